# SPDX-License-Identifier: Apache-2.0
# cmake/sanitizer.cmake: compiles and links everything with the sanitizer that UPSWEEP_SANITIZER names.

set(UPSWEEP_TEST_LAUNCHER "") # the command that starts tests

if(UPSWEEP_SANITIZER)
  if(UPSWEEP_SANITIZER STREQUAL "address")
    # A finding ends the program, so that a test cannot pass with one.
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=all)
    # GCC 13.3 stores vectors of 64 bytes as if they were aligned in frames that need not be (its bug 110027). So
    # kernels for AVX-512 crash. Older versions have such frames only if they are requested when a program starts.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      list(APPEND flags --param=asan-use-after-return=0)
    endif()
  elseif(UPSWEEP_SANITIZER STREQUAL "fuzzer")
    # As address, plus the instrumentation that guides libFuzzer between branches; upsweep_fuzz_test() adds its main().
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      message(FATAL_ERROR "UPSWEEP_SANITIZER=fuzzer needs Clang, and CMAKE_CXX_COMPILER is ${CMAKE_CXX_COMPILER}")
    endif()
    set(flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  elseif(UPSWEEP_SANITIZER STREQUAL "thread")
    set(flags -fsanitize=thread)
    # The ThreadSanitizer of GCC 12 and 13 cannot map its shadow memory if the kernel randomizes addresses by 32 bits.
    # Some containers do not allow switching that off; then tests run without setarch.
    execute_process(COMMAND setarch -R true RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(UPSWEEP_TEST_LAUNCHER setarch -R)
    endif()
  else()
    message(FATAL_ERROR "UPSWEEP_SANITIZER is '${UPSWEEP_SANITIZER}'; it may be address, thread, fuzzer or empty")
  endif()
  add_compile_options(-O1 -g1 -fno-omit-frame-pointer ${flags})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(${flags})
endif()
