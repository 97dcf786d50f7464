# SPDX-License-Identifier: Apache-2.0
# cmake/python.cmake: finds Python, nanobind and NumPy's headers and prints where; sets UPSWEEP_BUILD_PYTHON,
# UPSWEEP_NUMPY_INCLUDE and UPSWEEP_PYTHON_STABLE_ABI.

set(UPSWEEP_PYTHON AUTO CACHE STRING "Build the Python package: AUTO (where nanobind and NumPy are found), ON or OFF")
set_property(CACHE UPSWEEP_PYTHON PROPERTY STRINGS AUTO ON OFF)

# A wheel is built for the Python that builds it, a build folder for the Python of .venv.
macro(upsweep_find_python)
  if(NOT SKBUILD AND NOT Python_EXECUTABLE AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
    set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  endif()
  find_package(Python 3.11 COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule QUIET)
  set(upsweep_why_no_python "")
  if(NOT Python_Interpreter_FOUND OR NOT Python_Development.Module_FOUND)
    set(upsweep_why_no_python "no Python 3.11 or newer with its headers")
  else()
    foreach(query IN ITEMS "nanobind;print(nanobind.cmake_dir())" "numpy;print(numpy.get_include())")
      list(GET query 0 module)
      list(GET query 1 answer)
      execute_process(COMMAND "${Python_EXECUTABLE}" -c "import ${module}; ${answer}"
        OUTPUT_VARIABLE upsweep_${module}_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
      if(failed)
        set(upsweep_why_no_python "no ${module} for ${Python_EXECUTABLE}")
        break()
      endif()
    endforeach()
  endif()
endmacro()

set(UPSWEEP_BUILD_PYTHON FALSE)
string(TOUPPER "${UPSWEEP_PYTHON}" upsweep_python)
if(upsweep_python STREQUAL "AUTO" OR upsweep_python)
  upsweep_find_python()
  if(NOT upsweep_why_no_python)
    set(UPSWEEP_BUILD_PYTHON TRUE)
    find_package(nanobind CONFIG REQUIRED PATHS "${upsweep_nanobind_folder}" NO_DEFAULT_PATH)
    set(UPSWEEP_NUMPY_INCLUDE "${upsweep_numpy_folder}")
    # One wheel for all Pythons from 3.12 on; 3.11 has a smaller stable ABI, and needs a separate wheel.
    set(UPSWEEP_PYTHON_STABLE_ABI "")
    if(SKBUILD_SABI_COMPONENT)
      set(UPSWEEP_PYTHON_STABLE_ABI STABLE_ABI)
    endif()
    message(STATUS "upsweep: the Python package is built for Python ${Python_VERSION} (UPSWEEP_PYTHON=${UPSWEEP_PYTHON})")
  elseif(upsweep_python STREQUAL "AUTO")
    message(STATUS "upsweep: no Python package: ${upsweep_why_no_python} (UPSWEEP_PYTHON=AUTO)")
  else()
    message(FATAL_ERROR "UPSWEEP_PYTHON=ON, but ${upsweep_why_no_python}: make setup installs what is missing, with apt-get "
      "install python3-dev for the headers")
  endif()
endif()
