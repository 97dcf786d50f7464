# SPDX-License-Identifier: Apache-2.0
# cmake/isa.cmake: compiles sources once per instruction set, each time with separate flags.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  message(FATAL_ERROR "upsweep is for x86-64; this is ${CMAKE_SYSTEM_PROCESSOR}")
endif()

# Every instruction set must produce the same bits, so the compiler must not fuse multiplications and additions.
# Wrapping integers are the contract of `wrap`. errno would prevent the vectorization of loops with square roots.
set(UPSWEEP_ARITHMETIC -ffp-contract=off -fwrapv -fno-math-errno)

# upsweep_isa_objects(TARGET SOURCE…)
# Adds each SOURCE to TARGET as one object per instruction set, with UPSWEEP_ISA defined as baseline, avx2 or avx512.
# The object libraries are called TARGET_isa_baseline, …; the global property UPSWEEP_ISAS keeps the names of the
# instruction sets.
function(upsweep_isa_objects target)
  set(isas baseline avx2 avx512)
  set(flags_baseline "")
  # Exactly what src/system/isa.cpp asks the CPU for before it chooses a table. No FMA: results must not depend on it.
  set(flags_avx2 -mavx2 -mbmi2)
  # 512: with some tunings GCC and Clang would otherwise split vectors in halves.
  set(flags_avx512 ${flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)

  # Sanitizers check what runs here. Kernels that this CPU has no instructions for are only linked, so they are compiled
  # quickly.
  set(only_linked "")
  if(UPSWEEP_SANITIZER AND EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo has_avx512 REGEX "^flags.* avx512bw " LIMIT_COUNT 1)
    if(NOT has_avx512)
      set(only_linked avx512)
    endif()
  endif()

  foreach(isa IN LISTS isas)
    set(library ${target}_isa_${isa})
    add_library(${library} OBJECT ${ARGN})
    target_compile_definitions(${library} PRIVATE UPSWEEP_ISA=${isa})
    target_compile_options(${library} PRIVATE ${UPSWEEP_ARITHMETIC} ${flags_${isa}})
    if(isa STREQUAL only_linked)
      target_compile_options(${library} PRIVATE -fno-sanitize=all -O0 -w)  # -w: intrinsics that are macros warn
    elseif(UPSWEEP_SANITIZER MATCHES "^(address|fuzzer)$")
      target_compile_options(${library} PRIVATE -fno-sanitize=undefined) # it doubles the longest compilation time
    elseif(NOT UPSWEEP_SANITIZER) # also in debug builds: kernels of small inlined functions are very slow without -O2
      target_compile_options(${library} PRIVATE $<IF:$<CONFIG:Release>,-O3,-O2>)
    endif()
    target_include_directories(${library} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    upsweep_warnings(${library})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${library}>)
  endforeach()
  set_property(GLOBAL PROPERTY UPSWEEP_ISAS ${isas})
endfunction()
