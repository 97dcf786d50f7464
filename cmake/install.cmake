# SPDX-License-Identifier: Apache-2.0
# cmake/install.cmake: what is installed, and how find_package(upsweep) and pkg-config find it, wherever it is moved.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/upsweep")

# Libraries by the component that find_package() is asked for: those of query and io need more of their users. A header is
# installed with its library only.
set(core_libraries upsweep)
set(query_libraries "")
set(io_libraries "")
set(mpi_libraries upsweep_mpi)
set(left_out "")
if(TARGET upsweep_awkward)
  list(APPEND core_libraries upsweep_awkward)
endif()
if(TARGET upsweep_query)
  set(query_libraries upsweep_query)
else()
  list(APPEND left_out query.hpp table.hpp device_table.hpp)
endif()
if(TARGET upsweep_io AND NOT UPSWEEP_ARROW_OF_WHEEL)
  set(io_libraries upsweep_io)
else()
  list(APPEND left_out io.hpp)
endif()
if(UPSWEEP_ARROW_OF_WHEEL)
  message(STATUS "upsweep: upsweep::io is not installed: the Arrow of a wheel cannot be relocated, a system's can")
endif()
list(TRANSFORM left_out REPLACE "(.+)" "PATTERN;\\1;EXCLUDE")

install(DIRECTORY include/upsweep TYPE INCLUDE
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.cuh" ${left_out})
foreach(component IN ITEMS core query io mpi)
  if(${component}_libraries)
    install(TARGETS ${${component}_libraries} EXPORT upsweep-${component})
    install(EXPORT upsweep-${component} NAMESPACE upsweep:: DESTINATION "${package_dir}")
  endif()
endforeach()
if(io_libraries AND NOT BUILD_SHARED_LIBS)
  install(TARGETS upsweep_arrow EXPORT upsweep-io) # what a static upsweep::io links
endif()
if(TARGET upsweep_command)
  install(TARGETS upsweep_command)
endif()

if(NOT DEFINED CMAKE_INSTALL_RPATH)
  file(RELATIVE_PATH to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(${core_libraries} ${query_libraries} ${io_libraries} PROPERTIES INSTALL_RPATH "$ORIGIN")
  if(TARGET upsweep_command)
    # Arrow may live outside the prefix: what was linked is found where it was; CMake leaves out what lies in the project.
    set_target_properties(upsweep_command PROPERTIES INSTALL_RPATH "$ORIGIN/${to_lib};${UPSWEEP_ARROW_OF_WHEEL}")
    set_target_properties(upsweep_command upsweep_io PROPERTIES INSTALL_RPATH_USE_LINK_PATH TRUE)
  endif()
endif()

configure_package_config_file(cmake/upsweepConfig.cmake.in upsweepConfig.cmake INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may break what the one before it promised.
write_basic_package_version_file(upsweepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/upsweepConfig.cmake" "${PROJECT_BINARY_DIR}/upsweepConfigVersion.cmake"
  DESTINATION "${package_dir}")
if(query_libraries AND NOT BUILD_SHARED_LIBS)
  install(FILES cmake/FindPgQuery.cmake DESTINATION "${package_dir}")
endif()

# pkg-config: every path relative to the .pc file.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_to_lib "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH pc_to_include "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")

# NAME.pc of libNAME. A static library asks for `private_packages` and `private_libs` itself, so that no --static is needed.
function(upsweep_pc name description packages private_packages private_libs)
  if(NOT BUILD_SHARED_LIBS)
    string(STRIP "${packages} ${private_packages}" packages)
    set(private_packages "")
  else()
    set(private_libs "")
  endif()
  configure_file(cmake/upsweep.pc.in ${name}.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${pc_dir}")
endfunction()

set(cuda_libs "")
if(UPSWEEP_BUILD_CUDA)
  set(cuda_libs "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread")
endif()
upsweep_pc(upsweep "${PROJECT_DESCRIPTION}" "" "tbb" "${cuda_libs}")
if(query_libraries)
  cmake_path(GET PgQuery_LIBRARY PARENT_PATH folder)
  cmake_path(GET PgQuery_LIBRARY FILENAME file)
  upsweep_pc(upsweep-query "SQL aggregates over tables" "upsweep" "fmt" "-L${folder} -l:${file}")
endif()
if(io_libraries)
  set(arrow_packages "")
  if(UPSWEEP_BUILD_ARROW)
    set(arrow_packages "arrow parquet snappy")
  endif()
  upsweep_pc(upsweep-io "Files as tables" "upsweep" "fmt ${arrow_packages}" "")
endif()
