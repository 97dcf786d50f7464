// SPDX-License-Identifier: Apache-2.0
// cuda/program.cpp: loads compiled code by the CUDA runtime, once per process and device, and launches its kernels.
#include "cuda/program.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "cuda/check.hpp"
#include "cuda/nvrtc.hpp"

namespace upsweep::gpu {

struct Program::State {
  cudaLibrary_t library = nullptr;

  explicit State(const std::string& code) {
    require(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            "loading a query's code");
  }
  ~State() { (void)cudaLibraryUnload(library); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::~Program() = default;

void Program::launch(const char* kernel, std::int64_t blocks, int threads, std::int64_t shared_bytes, Stream stream,
                     std::span<const std::uint64_t> words) const {
  cudaKernel_t function = nullptr;
  require(cudaLibraryGetKernel(&function, state_->library, kernel), "looking for a query's kernel");
  const void* const handle = reinterpret_cast<const void*>(function);
  if (shared_bytes > 0) {
    require(cudaFuncSetAttribute(handle, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
            "asking for shared memory");
  }
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
