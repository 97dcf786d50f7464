# SPDX-License-Identifier: Apache-2.0
# src/cuda/rungs.cmake: how the CUDA half of the library is compiled: the files that call the runtime, and the rungs.

# Half of every rung is host code, which nvcc passes to the C++ compiler.
set(UPSWEEP_CUDA_FLAGS -Xcompiler=-fno-math-errno --extended-lambda --compress-mode=size)

# upsweep_cuda_per_type(NAME SOURCE TYPE…): compiles SOURCE once per type, with the type as UPSWEEP_ELEMENT, so that the
# types are compiled at the same time.
function(upsweep_cuda_per_type name source)
  foreach(type IN LISTS ARGN)
    string(REGEX REPLACE "^std::|_t$" "" suffix ${type})
    set(library upsweep_${name}_${suffix})
    add_library(${library} OBJECT ${source})
    target_compile_definitions(${library} PRIVATE UPSWEEP_ELEMENT=${type} UPSWEEP_HAS_CUDA=1)
    target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(${library} PRIVATE ${UPSWEEP_CUDA_FLAGS})
    set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_sources(upsweep PRIVATE $<TARGET_OBJECTS:${library}>)
  endforeach()
endfunction()

set(UPSWEEP_CUDA_TYPES std::int8_t std::int16_t std::int32_t std::int64_t std::uint8_t std::uint16_t std::uint32_t
  std::uint64_t float double)
upsweep_cuda_per_type(lookahead problems/dense/scan/lookahead_kernels.cu ${UPSWEEP_CUDA_TYPES})
upsweep_cuda_per_type(lookback problems/dense/scan/lookback_kernels.cu ${UPSWEEP_CUDA_TYPES})
upsweep_cuda_per_type(reduce problems/dense/reduce/kernels.cu ${UPSWEEP_CUDA_TYPES})
upsweep_cuda_per_type(cub problems/dense/scan/cub_kernels.cu ${UPSWEEP_CUDA_TYPES})
# Reductions of lists store signed elements as unsigned ones.
set(UPSWEEP_CUDA_KEPT_TYPES std::uint8_t std::uint16_t std::uint32_t std::uint64_t float double)
upsweep_cuda_per_type(lanes problems/lists/segmented_reduce/lanes_kernels.cu ${UPSWEEP_CUDA_KEPT_TYPES})
upsweep_cuda_per_type(pipeline problems/lists/segmented_reduce/pipeline_kernels.cu ${UPSWEEP_CUDA_KEPT_TYPES})
upsweep_cuda_per_type(list_scan problems/lists/segmented_scan/kernels.cu ${UPSWEEP_CUDA_TYPES})
upsweep_cuda_per_type(list_lookahead problems/lists/segmented_scan/lookahead_kernels.cu ${UPSWEEP_CUDA_TYPES})
upsweep_cuda_per_type(shard_scan scale/shards/scan_kernels.cu ${UPSWEEP_CUDA_TYPES})
upsweep_cuda_per_type(sort problems/lists/segmented_sort/kernels.cu std::uint8_t std::uint16_t std::uint32_t std::uint64_t)

# Files that several rungs or calls of a problem share.
set(kernels_beside_rungs problems/keys/by_key/key_runs.cu problems/lists/pack/conversion_kernels.cu problems/lists/segmented_scan/heads.cu
  problems/lists/segmented_sort/packed_lists.cu scale/shards/lists.cu scale/shards/offsets.cu scale/shards/scan.cu)
target_sources(upsweep PRIVATE
  climb/device_place.cpp
  climb/device_trials.cpp
  climb/kernel_facts.cpp
  climb/link.cpp
  cuda/capability.cu
  cuda/nvrtc.cpp
  cuda/program.cpp
  cuda/runtime.cpp
  scale/chunked/reduce.cpp
  scale/chunked/ring.cpp
  scale/chunked/scan.cpp
  scale/shards/group.cpp
  scale/shards/reduce.cpp
  scale/staging.cpp
  ${kernels_beside_rungs})
set(built_rungs ${cuda_rungs})
list(REMOVE_ITEM built_rungs problems/dense/scan/cuda_cub_newer.cu)
set_source_files_properties(${built_rungs} problems/dense/filtered_sum/on_device.cpp problems/lists/pack/conversions_on_device.cpp ${kernels_beside_rungs}
  PROPERTIES COMPILE_DEFINITIONS UPSWEEP_HAS_CUDA=1)
set_source_files_properties(cuda/capability.cu ${kernels_beside_rungs} ${cuda_rungs} PROPERTIES COMPILE_OPTIONS "${UPSWEEP_CUDA_FLAGS}")
target_link_libraries(upsweep PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})

# A newer CUB than the toolkit's for comparison, if PyPI's nvidia-cuda-cccl is in .venv.
file(GLOB newer_cub "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu*/include/cccl/cub/version.cuh")
if(newer_cub)
  list(GET newer_cub 0 newer_cub)
  cmake_path(GET newer_cub PARENT_PATH newer_cub)
  cmake_path(GET newer_cub PARENT_PATH newer_cub)
  message(STATUS "upsweep: cuda.cub_newer is built with ${newer_cub}")
  file(STRINGS ${newer_cub}/cub/version.cuh newer_cub_version REGEX "#define CUB_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" newer_cub_version "${newer_cub_version}")
  set_source_files_properties(problems/dense/scan/cuda_cub_newer.cu PROPERTIES
    COMPILE_OPTIONS "${UPSWEEP_CUDA_FLAGS};-I${newer_cub}"
    COMPILE_DEFINITIONS "UPSWEEP_HAS_CUDA=1;UPSWEEP_NEWER_CUB_VERSION=${newer_cub_version}")
endif()
