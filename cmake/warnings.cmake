# SPDX-License-Identifier: Apache-2.0
# cmake/warnings.cmake: the warnings that upsweep's own code is compiled with.

# Private to the target: they do not apply to dependencies or users.
function(upsweep_warnings target)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)
  # {.threads = 1} leaves the other fields at their defaults on purpose.
  list(APPEND warnings -Wno-missing-field-initializers)
  # GCC 12 reports overlapping copies and unset bytes in std::string itself (GCC bug 105651 and similar ones).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND warnings -Wno-restrict -Wno-maybe-uninitialized)
  endif()
  # With sanitizers GCC's data-flow warnings are wrong too often.
  if(UPSWEEP_WERROR AND NOT UPSWEEP_SANITIZER)
    list(APPEND warnings -Werror)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:${warnings}>")
endfunction()
