# SPDX-License-Identifier: Apache-2.0
# cmake/sanitizer.cmake: compiles and links everything with the sanitizer that UPSWEEP_SANITIZER names.

set(UPSWEEP_TEST_LAUNCHER "") # what tests are started through

if(UPSWEEP_SANITIZER)
  if(UPSWEEP_SANITIZER STREQUAL "address")
    # A finding ends the program, so that a test cannot pass with one.
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=all)
    # GCC 13.3 stores vectors of 64 bytes as if they were aligned in frames that need not be (its bug 110027): kernels for
    # AVX-512 crash. Older ones have such frames only where they are asked for when a program starts.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      list(APPEND flags --param=asan-use-after-return=0)
    endif()
  elseif(UPSWEEP_SANITIZER STREQUAL "fuzzer")
    # As address, and what leads libFuzzer from one branch to the next; its own main() comes with upsweep_fuzz_test().
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      message(FATAL_ERROR "UPSWEEP_SANITIZER=fuzzer needs Clang, and CMAKE_CXX_COMPILER is ${CMAKE_CXX_COMPILER}")
    endif()
    set(flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  elseif(UPSWEEP_SANITIZER STREQUAL "thread")
    set(flags -fsanitize=thread)
    # The ThreadSanitizer of GCC 12 and 13 cannot map its shadow memory where the kernel randomises addresses by 32
    # bits; some containers do not allow switching that off, and then it is tried as it is.
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
