# SPDX-License-Identifier: Apache-2.0
# cmake/library.cmake: what every library and program that is installed has in common.

# Users know `target` as upsweep::NAME and, but for upsweep::core, as libupsweep-NAME.
function(upsweep_library_properties target name)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    OUTPUT_NAME upsweep-${name}
    POSITION_INDEPENDENT_CODE ON
  )
  # Nobody replaces single functions of these: within a shared library calls need not expect it, and are inlined.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>")
  if(SKBUILD)  # a wheel has no symbolic links, and its libraries no users but itself
    return()
  endif()
  set_target_properties(${target} PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}  # before 1.0 a minor version may break the ABI
  )
endfunction()

# upsweep_run_path(PATHS folder… TARGETS target…): where installed targets look for their libraries, which is also where
# they look in the build folder. Were the two different, CMake would make room for the one in the other by colons, and the
# loader takes an empty entry between colons for the current directory.
function(upsweep_run_path)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "PATHS;TARGETS")
  list(REMOVE_DUPLICATES arg_PATHS)
  set_target_properties(${arg_TARGETS} PROPERTIES INSTALL_RPATH "${arg_PATHS}" BUILD_WITH_INSTALL_RPATH TRUE)
endfunction()
