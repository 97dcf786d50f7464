// SPDX-License-Identifier: Apache-2.0
// cuda/program.cpp: loads compiled code by the CUDA runtime, once per process and device, and launches its kernels.
#include "cuda/program.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/check.hpp"
#include "cuda/nvrtc.hpp"

namespace upsweep::gpu {

namespace {

/// Lets a kernel have all the shared memory that a block of the current device can have.
void allow_shared_memory(cudaKernel_t kernel, int most) {
  const void* const handle = reinterpret_cast<const void*>(kernel);
  cudaFuncAttributes attributes = {};
  require(cudaFuncGetAttributes(&attributes, handle), "asking for a kernel's shared memory");
  const int dynamic = most - static_cast<int>(attributes.sharedSizeBytes);
  require(cudaFuncSetAttribute(handle, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic),
          "asking for shared memory");
}

}  // namespace

struct Program::State : Owned<cudaLibrary_t, cudaLibraryUnload> {
  explicit State(const std::string& code) {
    require(cudaLibraryLoadData(&handle_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            "loading a query's code");
    allow_all_shared_memory();
  }
  // Once, here: threads share the kernels, and one could lower the limit between another's asking and its launch.
  void allow_all_shared_memory() const {
    const auto most = static_cast<int>(launch_limits().shared_per_block);
    unsigned count = 0;
    require(cudaLibraryGetKernelCount(&count, handle_), "counting a query's kernels");
    std::vector<cudaKernel_t> kernels(count);
    require(cudaLibraryEnumerateKernels(kernels.data(), count, handle_), "listing a query's kernels");
    for (cudaKernel_t kernel : kernels) allow_shared_memory(kernel, most);
  }
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::~Program() = default;

void Program::launch(const char* kernel, std::int64_t blocks, int threads, std::int64_t shared_bytes, Stream stream,
                     std::span<const std::uint64_t> words) const {
  cudaKernel_t function = nullptr;
  require(cudaLibraryGetKernel(&function, state_->get(), kernel), "looking for a query's kernel");
  const void* const handle = reinterpret_cast<const void*>(function);
  void* arguments[] = {const_cast<std::uint64_t*>(words.data())};
  require(cudaLaunchKernel(handle, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), arguments,
                           static_cast<std::size_t>(shared_bytes), stream),
          "starting a query's kernel");
}

std::shared_ptr<const Program> program_of(const std::string& source, double& seconds) {
  // Never taken down: at the end of the process the driver may go first.
  static auto* const all = new std::map<std::pair<int, std::string>, std::shared_ptr<const Program>>;
  static std::mutex mutex;
  int device = 0;
  require(cudaGetDevice(&device), "asking for the current device");
  const std::lock_guard lock(mutex);
  auto& program = (*all)[{device, source}];
  if (program) return program;
  const auto start = std::chrono::steady_clock::now();
  const Device& properties = devices()[static_cast<std::size_t>(device)];
  program = std::make_shared<const Program>(
      std::make_unique<Program::State>(compiled(source, properties.major, properties.minor)));
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return program;
}

LaunchLimits launch_limits() {
  int device = 0;
  require(cudaGetDevice(&device), "asking for the current device");
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
