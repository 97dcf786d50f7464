# SPDX-License-Identifier: Apache-2.0
# cmake/library.cmake: the common properties of all libraries and programs that are installed.

# Users refer to `target` as upsweep::NAME and, except upsweep::core, as libupsweep-NAME.
function(upsweep_library_properties target name)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    OUTPUT_NAME upsweep-${name}
    POSITION_INDEPENDENT_CODE ON
  )
  # Nobody replaces single functions of these libraries. So calls within a shared library can be inlined.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>")
  if(SKBUILD)  # a wheel has no symbolic links, and only it uses its libraries
    return()
  endif()
  set_target_properties(${target} PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}  # before 1.0 a minor version may break the ABI
  )
endfunction()

# upsweep_run_path(PATHS folder… TARGETS target…): sets the folders where installed targets look for their libraries.
# Targets in the build folder look in the same folders. If the two differed, CMake would pad one with colons so that it
# can be replaced by the other. The loader interprets an empty entry between colons as the current directory.
function(upsweep_run_path)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "PATHS;TARGETS")
  list(REMOVE_DUPLICATES arg_PATHS)
  set_target_properties(${arg_TARGETS} PROPERTIES INSTALL_RPATH "${arg_PATHS}" BUILD_WITH_INSTALL_RPATH TRUE)
endfunction()
