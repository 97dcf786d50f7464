# SPDX-License-Identifier: Apache-2.0
# cmake/library.cmake: what every library that is installed has in common.

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
