// SPDX-License-Identifier: Apache-2.0
// climb/kernel_facts.cpp: the kernel nodes of a captured run.
#include "climb/kernel_facts.hpp"

#include <cuda_runtime_api.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>

#include "cuda/check.hpp"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"

namespace upsweep::gpu {
namespace {

using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, decltype(&cudaGraphDestroy)>;

Graph captured(Stream stream, const std::function<void()>& run) {
  Graph none(nullptr, cudaGraphDestroy);
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return none;
  bool is_whole = true;
  try {
    run();
  } catch (const Error&) {  // a run that waits cannot be captured
    is_whole = false;
  }
  cudaGraph_t graph = nullptr;
  is_whole = cudaStreamEndCapture(stream, &graph) == cudaSuccess && is_whole;
  forget_last_error();
  Graph owned(graph, cudaGraphDestroy);
  return is_whole ? std::move(owned) : std::move(none);
}

/// "scan_tiles" for "void upsweep::(anonymous namespace)::scan_tiles<int>(int*, long)".
std::string plain_name(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                              std::free);
  std::string name = status == 0 ? demangled.get() : mangled;
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  for (std::size_t at = 0; (at = name.find(kAnonymous, at)) != std::string::npos;) name.erase(at, kAnonymous.size());
  name.erase(std::min(name.find_first_of("<("), name.size()));
  const std::size_t last = name.find_last_of(": ");
  return last == std::string::npos ? name : name.substr(last + 1);
}

Kernel kernel_of(const cudaKernelNodeParams& node) {
  cudaFuncAttributes attributes = {};
  require(cudaFuncGetAttributes(&attributes, node.func), "asking about a kernel");
  const char* name = nullptr;
  require(cudaFuncGetName(&name, node.func), "asking for a kernel's name");
  int device = 0;
  int most_threads = 0;
  Kernel kernel{.name = plain_name(name),
                .launches = 1,
                .blocks = std::int64_t{node.gridDim.x} * node.gridDim.y * node.gridDim.z,
                .threads = static_cast<int>(node.blockDim.x * node.blockDim.y * node.blockDim.z),
                .registers = attributes.numRegs,
                .shared_bytes = static_cast<std::int64_t>(attributes.sharedSizeBytes + node.sharedMemBytes)};
  require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&kernel.resident_blocks, node.func, kernel.threads,
                                                        node.sharedMemBytes),
          "asking for a kernel's occupancy");
  require(cudaGetDevice(&device), "asking for the device");
  require(cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device), "asking the device");
  kernel.occupancy = static_cast<double>(kernel.resident_blocks * kernel.threads) / most_threads;
  return kernel;
}

bool is_same(const Kernel& a, const Kernel& b) {
  return a.name == b.name && a.blocks == b.blocks && a.threads == b.threads && a.shared_bytes == b.shared_bytes;
}

}  // namespace

std::vector<Kernel> kernels_of(Stream stream, const std::function<void()>& run) {
  const Graph graph = captured(stream, run);
  if (graph == nullptr) return {};
  std::size_t count = 0;
  require(cudaGraphGetNodes(graph.get(), nullptr, &count), "reading a graph");
  std::vector<cudaGraphNode_t> nodes(count);
  require(cudaGraphGetNodes(graph.get(), nodes.data(), &count), "reading a graph");
  std::vector<Kernel> kernels;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    require(cudaGraphNodeGetType(node, &type), "reading a graph");
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams launched = {};
    require(cudaGraphKernelNodeGetParams(node, &launched), "reading a graph");
    const Kernel kernel = kernel_of(launched);
    const auto known = std::ranges::find_if(kernels, [&](const Kernel& one) { return is_same(one, kernel); });
    if (known == kernels.end()) {
      kernels.push_back(kernel);
    } else {
      ++known->launches;
    }
  }
  return kernels;
}

}  // namespace upsweep::gpu
