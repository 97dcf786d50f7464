// SPDX-License-Identifier: Apache-2.0
// cuda/program.cpp: loads compiled code with the CUDA runtime, keeps recently used code, and launches its kernels.
#include "cuda/program.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <utility>
#include <vector>

#include "cuda/capture.hpp"
#include "cuda/check.hpp"
#include "cuda/device_call.hpp"
#include "cuda/nvrtc.hpp"
#include "system/recent_values.hpp"
#include "upsweep/detail/shared_memory.cuh"

namespace upsweep::gpu {

namespace {

cudaError_t unload(cudaLibrary_t library) {
  const DuringCapture allowed;
  return cudaLibraryUnload(library);
}

}  // namespace

struct Program::State : Owned<cudaLibrary_t, unload> {
  /// Loads code on the current device, which must be `device`.
  State(const std::string& code, int device) {
    const DuringCapture allowed;  // also during a capture of another thread
    require(cudaLibraryLoadData(&handle_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            "loading compiled code");
    unsigned count = 0;
    require(cudaLibraryGetKernelCount(&count, handle_), "counting the kernels of compiled code");
    std::vector<cudaKernel_t> kernels(count);
    require(cudaLibraryEnumerateKernels(kernels.data(), count, handle_), "listing the kernels of compiled code");
    for (cudaKernel_t kernel : kernels) {
      require(detail::allow_shared_memory(reinterpret_cast<const void*>(kernel), device), "asking for shared memory");
    }
  }
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::~Program() = default;

void Program::launch(const char* kernel, std::int64_t blocks, int threads, std::int64_t shared_bytes, Stream stream,
                     std::span<const std::uint64_t> words) const {
  cudaKernel_t function = nullptr;
  require(cudaLibraryGetKernel(&function, state_->get(), kernel), "looking for a kernel of compiled code");
  const void* const handle = reinterpret_cast<const void*>(function);
  void* arguments[] = {const_cast<std::uint64_t*>(words.data())};
  require(cudaLaunchKernel(handle, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), arguments,
                           static_cast<std::size_t>(shared_bytes), stream),
          "starting a kernel of compiled code");
}

std::shared_ptr<const Program> program_of(const std::string& source, int device, double& seconds) {
  using Key = std::pair<int, std::string>;
  // Never destroyed: at the end of the process the driver may be unloaded earlier.
  static auto* const programs = new RecentValues<Key, Program>(kMostPrograms);
  return programs->get({device, source}, [&] {
    const auto start = std::chrono::steady_clock::now();
    const CurrentDevice current(device);
    const Device& properties = devices()[static_cast<std::size_t>(device)];
    auto program = std::make_shared<const Program>(
        std::make_unique<Program::State>(compiled(source, properties.major, properties.minor), device));
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return program;
  });
}

LaunchLimits launch_limits(int device) {
  const auto ask = [&](cudaDeviceAttr attribute) {
    int value = 0;
    require(cudaDeviceGetAttribute(&value, attribute, device), "asking for the device's limits");
    return value;
  };
  return {.multiprocessors = ask(cudaDevAttrMultiProcessorCount),
          .shared_per_block = ask(cudaDevAttrMaxSharedMemoryPerBlockOptin),
          .shared_per_multiprocessor = ask(cudaDevAttrMaxSharedMemoryPerMultiprocessor)};
}

}  // namespace upsweep::gpu
