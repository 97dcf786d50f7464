# SPDX-License-Identifier: Apache-2.0
# cmake/install.cmake: what is installed, and how find_package(upsweep) and pkg-config find it, wherever it is moved.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/upsweep")

set(libraries upsweep)
if(TARGET upsweep_awkward)
  list(APPEND libraries upsweep_awkward)
endif()
install(TARGETS ${libraries} EXPORT upsweepTargets)
install(DIRECTORY include/upsweep TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.cuh")
if(TARGET upsweep_command)
  install(TARGETS upsweep_command)
endif()

if(NOT DEFINED CMAKE_INSTALL_RPATH)
  file(RELATIVE_PATH to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(${libraries} PROPERTIES INSTALL_RPATH "$ORIGIN")
  if(TARGET upsweep_command)
    # Arrow may live outside the prefix: what the command was linked with is found where it was.
    set_target_properties(upsweep_command PROPERTIES INSTALL_RPATH "$ORIGIN/${to_lib};${UPSWEEP_ARROW_RPATH}")
  endif()
endif()

install(EXPORT upsweepTargets NAMESPACE upsweep:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/upsweepConfig.cmake.in upsweepConfig.cmake INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may break what the one before it promised.
write_basic_package_version_file(upsweepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/upsweepConfig.cmake" "${PROJECT_BINARY_DIR}/upsweepConfigVersion.cmake"
  DESTINATION "${package_dir}")

# pkg-config: every path relative to the .pc file. A static library asks for TBB itself, so that no --static is needed.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_to_lib "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH pc_to_include "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
if(BUILD_SHARED_LIBS)
  set(pc_requires "Requires.private")
else()
  set(pc_requires "Requires")
endif()
set(pc_cuda_libs "")
if(UPSWEEP_BUILD_CUDA AND NOT BUILD_SHARED_LIBS)
  set(pc_cuda_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread")
endif()
configure_file(cmake/upsweep.pc.in upsweep.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/upsweep.pc" DESTINATION "${pc_dir}")
