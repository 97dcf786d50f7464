# SPDX-License-Identifier: Apache-2.0
# cmake/isa.cmake: compiles sources once per instruction set, each time with flags of its own.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  message(FATAL_ERROR "upsweep is for x86-64; this is ${CMAKE_SYSTEM_PROCESSOR}")
endif()

# The same bits with every instruction set: the compiler must not fuse multiplications and additions. Wrapping integers are the contract of
# `wrap`. errno would keep loops with square roots from being vectorised.
set(UPSWEEP_ARITHMETIC -ffp-contract=off -fwrapv -fno-math-errno)

# upsweep_isa_objects(TARGET SOURCE…)
# Adds each SOURCE to TARGET as one object per instruction set, with UPSWEEP_ISA defined as baseline,
# avx2 or avx512. The object libraries are called TARGET_isa_baseline, …; the global property UPSWEEP_ISAS keeps their
# names.
function(upsweep_isa_objects target)
  set(isas baseline avx2 avx512)
  set(flags_baseline "")
  # Exactly what src/system/isa.cpp asks the CPU for before it picks a table. No FMA: results must not depend on it.
  set(flags_avx2 -mavx2 -mbmi2)
  # 512: for some tunings GCC and Clang would otherwise split vectors in halves.
  set(flags_avx512 ${flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)

  # Sanitizers are for what runs here: kernels that this CPU has no instructions for are only to be linked, so quickly compiled.
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
      target_compile_options(${library} PRIVATE -fno-sanitize=all -O0 -w)  # warnings: those of macros that stand for intrinsics
    elseif(UPSWEEP_SANITIZER MATCHES "^(address|fuzzer)$")
      target_compile_options(${library} PRIVATE -fno-sanitize=undefined) # doubles the time of the longest compilation
    elseif(NOT UPSWEEP_SANITIZER) # in debug builds too: kernels made of small inlined pieces crawl without -O2
      target_compile_options(${library} PRIVATE $<IF:$<CONFIG:Release>,-O3,-O2>)
    endif()
    target_include_directories(${library} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    upsweep_warnings(${library})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${library}>)
  endforeach()
  set_property(GLOBAL PROPERTY UPSWEEP_ISAS ${isas})
endfunction()
