# SPDX-License-Identifier: Apache-2.0
# cmake/install.cmake: the installed files; find_package(upsweep) and pkg-config find them wherever they are moved.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/upsweep")

# Libraries by the component that find_package() requests. Those of query and io have more requirements on their users.
# A header is installed only with its library.
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
  message(STATUS "upsweep: upsweep::io is not installed: the Arrow of a wheel has no CMake package; a system's has one")
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
  install(TARGETS upsweep_arrow EXPORT upsweep-io) # a static upsweep::io links it
endif()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(TARGET upsweep_command)
  install(TARGETS upsweep_command)
  if(UPSWEEP_ARROW_OF_WHEEL)
    # The command must outlive the .venv that its Arrow is from, so the libraries are copied, with their license.
    install(FILES ${UPSWEEP_ARROW_LIBRARIES} DESTINATION "${CMAKE_INSTALL_LIBDIR}/upsweep")
    file(GLOB licences "${UPSWEEP_ARROW_OF_WHEEL}/../pyarrow-*.dist-info/licenses/*.txt")
    install(FILES ${licences} DESTINATION "${CMAKE_INSTALL_DOCDIR}/arrow")
  endif()
endif()

# The command writes the completion of shells and its manual page. A program for another machine cannot run here.
# OPTIONAL: a build of only the command has no such files.
if(TARGET upsweep_command AND NOT CMAKE_CROSSCOMPILING)
  set(share "${PROJECT_BINARY_DIR}/share")
  set(texts
    bash-completion/completions/upsweep "completion bash"
    zsh/site-functions/_upsweep "completion zsh"
    fish/vendor_completions.d/upsweep.fish "completion fish"
    man/man1/upsweep.1 man
  )
  set(written "")
  while(texts)
    list(POP_FRONT texts file arguments)
    cmake_path(GET file PARENT_PATH folder)
    separate_arguments(arguments)
    add_custom_command(OUTPUT "${share}/${file}"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${share}/${folder}"
      COMMAND upsweep_command ${arguments} > "${share}/${file}"
      DEPENDS upsweep_command
      VERBATIM)
    list(APPEND written "${share}/${file}")
    install(FILES "${share}/${file}" DESTINATION "${CMAKE_INSTALL_DATADIR}/${folder}" OPTIONAL)
  endwhile()
  add_custom_target(upsweep_command_texts ALL DEPENDS ${written})
endif()

# Libraries are in lib/ of the build folder, as in an installation, and Arrow's libraries are in lib/upsweep/.
set(libraries ${core_libraries} ${query_libraries} ${io_libraries})
set(build_lib "${PROJECT_BINARY_DIR}/lib")
set_target_properties(${libraries} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${build_lib}")
upsweep_run_path(PATHS "$ORIGIN" ${CMAKE_INSTALL_RPATH} TARGETS ${libraries})
if(TARGET upsweep_command)
  file(RELATIVE_PATH to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(paths "$ORIGIN/../lib" "$ORIGIN/${to_lib}")
  if(UPSWEEP_ARROW_OF_WHEEL)
    list(APPEND paths "$ORIGIN/../lib/upsweep" "$ORIGIN/${to_lib}/upsweep")
    file(MAKE_DIRECTORY "${build_lib}/upsweep")
    foreach(library IN LISTS UPSWEEP_ARROW_LIBRARIES)
      cmake_path(GET library FILENAME name)
      file(CREATE_LINK "${library}" "${build_lib}/upsweep/${name}" SYMBOLIC)
    endforeach()
  endif()
  upsweep_run_path(PATHS ${paths} ${CMAKE_INSTALL_RPATH} TARGETS upsweep_command)
  # A system's Arrow may be outside the loader's folders. It is found where it was linked.
  if(NOT DEFINED CMAKE_INSTALL_RPATH)
    set_target_properties(upsweep_command upsweep_io PROPERTIES INSTALL_RPATH_USE_LINK_PATH TRUE)
  endif()
endif()

configure_package_config_file(cmake/upsweepConfig.cmake.in upsweepConfig.cmake INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may break what the previous one promised.
write_basic_package_version_file(upsweepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/upsweepConfig.cmake" "${PROJECT_BINARY_DIR}/upsweepConfigVersion.cmake"
  DESTINATION "${package_dir}")
if(query_libraries AND NOT BUILD_SHARED_LIBS)
  install(FILES cmake/FindPgQuery.cmake DESTINATION "${package_dir}")
endif()

# pkg-config: every path is relative to the .pc file.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_to_lib "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH pc_to_include "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")

# Makes NAME.pc of libNAME. A static library requires `private_packages` and `private_libs` itself, so that --static is
# not needed.
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
