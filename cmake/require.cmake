# SPDX-License-Identifier: Apache-2.0
# cmake/require.cmake: finds a package that the build needs, or prints how to install it, before anything is compiled.

# upsweep_require(PACKAGE DEBIAN [option of find_package()…]): DEBIAN is the distribution's package that contains it.
macro(upsweep_require package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is not found: `make setup` installs it, or apt-get install ${debian}, or what contains it "
      "elsewhere; -DCMAKE_PREFIX_PATH=FOLDER names another place")
  endif()
endmacro()
