# SPDX-License-Identifier: Apache-2.0
# cmake/arrow.cmake: finds Arrow C++ and Parquet and prints where; sets UPSWEEP_BUILD_ARROW, UPSWEEP_ARROW_OF_WHEEL,
# UPSWEEP_ARROW_LIBRARIES and the target upsweep::arrow.

set(UPSWEEP_ARROW AUTO CACHE STRING "Read Parquet, Arrow IPC and CSV through Arrow C++: AUTO (where it is found), ON or OFF")
set_property(CACHE UPSWEEP_ARROW PROPERTY STRINGS AUTO ON OFF)
set(upsweep_arrow_oldest 21) # the first version whose record batch readers return arrow::Result

# Links upsweep_arrow to an installed Arrow. If that is not possible, sets `why_not` to the reason.
function(upsweep_system_arrow why_not)
  find_package(Arrow CONFIG QUIET)
  find_package(Parquet CONFIG QUIET)
  set(${why_not} "" PARENT_SCOPE)
  if(NOT Arrow_FOUND OR NOT Parquet_FOUND)
    set(${why_not} "no installed Arrow with Parquet" PARENT_SCOPE)
  elseif(Arrow_VERSION VERSION_LESS upsweep_arrow_oldest)
    set(${why_not} "the installed Arrow ${Arrow_VERSION} is older than ${upsweep_arrow_oldest}" PARENT_SCOPE)
  else()
    foreach(kind IN ITEMS shared static)
      if(TARGET Arrow::arrow_${kind} AND TARGET Parquet::parquet_${kind})
        target_link_libraries(upsweep_arrow INTERFACE Parquet::parquet_${kind} Arrow::arrow_${kind})
        set(upsweep_arrow_where "Arrow ${Arrow_VERSION} at ${Arrow_DIR}" PARENT_SCOPE)
        return()
      endif()
    endforeach()
    set(${why_not} "the installed Arrow has no library" PARENT_SCOPE)
  endif()
endfunction()

# Links upsweep_arrow to the Arrow inside a pyarrow wheel, which contains headers and libraries but not a CMake package.
# Its libraries have only versioned names, and are linked by these; nothing is written into the wheel. The wheel is that
# of .venv, or, if pip builds the Python package, of pip's build environment.
function(upsweep_wheel_arrow why_not)
  set(python "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  if(SKBUILD)
    set(python "${Python_EXECUTABLE}")
  endif()
  if(NOT EXISTS "${python}")
    set(${why_not} "no ${python}" PARENT_SCOPE)
    return()
  endif()
  execute_process(
    COMMAND "${python}" -c
      "import pyarrow as p; print(p.cpp_version, p.cpp_build_info.so_version, p.get_include(), p.get_library_dirs()[0], sep=';')"
    OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(${why_not} "no pyarrow for ${python}" PARENT_SCOPE)
    return()
  endif()
  list(GET answer 0 version)
  list(GET answer 1 so_version)
  list(GET answer 2 include)
  list(GET answer 3 folder)
  if(version VERSION_LESS upsweep_arrow_oldest)
    set(${why_not} "pyarrow's Arrow ${version} is older than ${upsweep_arrow_oldest}" PARENT_SCOPE)
    return()
  endif()
  set(libraries "${folder}/libparquet.so.${so_version}" "${folder}/libarrow.so.${so_version}")
  foreach(needed IN ITEMS ${libraries} "${include}/arrow/type.h" "${include}/parquet/schema.h")
    if(NOT EXISTS "${needed}")
      set(${why_not} "no ${needed}" PARENT_SCOPE)
      return()
    endif()
  endforeach()

  # A program that gets std::string from both shows whether the wheel was built with this standard library's ABI.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES "${include}")
  set(CMAKE_REQUIRED_LIBRARIES "${libraries}")
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_cxx_source_compiles("
    #include <arrow/type.h>
    #include <parquet/schema.h>
    int main() {
      const std::string name = arrow::field(std::string(), arrow::int64())->ToString();
      return parquet::schema::ColumnPath::FromDotString(name)->ToDotString().empty();
    }" UPSWEEP_WHEEL_ARROW_LINKS)
  if(NOT UPSWEEP_WHEEL_ARROW_LINKS)
    unset(UPSWEEP_WHEEL_ARROW_LINKS CACHE) # another wheel may link
    set(${why_not} "pyarrow's Arrow ${version} does not link with this compiler, perhaps for another C++ ABI" PARENT_SCOPE)
    return()
  endif()
  target_include_directories(upsweep_arrow SYSTEM INTERFACE "${include}")
  target_link_libraries(upsweep_arrow INTERFACE ${libraries}) # full paths: CMake puts their folder on the build RPATH
  set(${why_not} "" PARENT_SCOPE)
  set(UPSWEEP_ARROW_OF_WHEEL "${folder}" PARENT_SCOPE)
  set(UPSWEEP_ARROW_LIBRARIES ${libraries} PARENT_SCOPE)
  set(upsweep_arrow_where "Arrow ${version} of the pyarrow wheel at ${folder}" PARENT_SCOPE)
endfunction()

set(UPSWEEP_BUILD_ARROW FALSE)
set(UPSWEEP_ARROW_OF_WHEEL "") # or the folder of the wheel
set(UPSWEEP_ARROW_LIBRARIES "") # the files there that are linked
add_library(upsweep_arrow INTERFACE) # stays empty without Arrow
add_library(upsweep::arrow ALIAS upsweep_arrow)
set_target_properties(upsweep_arrow PROPERTIES EXPORT_NAME arrow)
string(TOUPPER "${UPSWEEP_ARROW}" upsweep_arrow)
if(upsweep_arrow STREQUAL "AUTO" OR upsweep_arrow)
  if(SKBUILD)
    set(upsweep_why_not_system "a wheel uses the Arrow of pyarrow")
  else()
    upsweep_system_arrow(upsweep_why_not_system)
  endif()
  if(upsweep_why_not_system)
    upsweep_wheel_arrow(upsweep_why_not_wheel)
  endif()
  if(NOT upsweep_why_not_system OR NOT upsweep_why_not_wheel)
    set(UPSWEEP_BUILD_ARROW TRUE)
    message(STATUS "upsweep: Parquet, Arrow IPC and CSV are read with ${upsweep_arrow_where} (UPSWEEP_ARROW=${UPSWEEP_ARROW})")
  elseif(upsweep_arrow STREQUAL "AUTO")
    message(STATUS "upsweep: only .npy is read: ${upsweep_why_not_system}, ${upsweep_why_not_wheel} (UPSWEEP_ARROW=AUTO)")
  else()
    if(SKBUILD)
      set(remedy "install pyarrow 23 for that Python; UPSWEEP_ARROW=OFF builds a package that reads no files")
    else()
      set(remedy "run make setup")
    endif()
    message(FATAL_ERROR "UPSWEEP_ARROW=ON, but ${upsweep_why_not_system}, and ${upsweep_why_not_wheel}: ${remedy}")
  endif()
else()
  message(STATUS "upsweep: only .npy is read (UPSWEEP_ARROW=OFF)")
endif()
