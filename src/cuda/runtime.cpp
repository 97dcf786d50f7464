// SPDX-License-Identifier: Apache-2.0
// cuda/runtime.cpp: devices, memory and workspaces, with the CUDA runtime.
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/capture.hpp"
#include "cuda/check.hpp"
#include "cuda/device_call.hpp"
#include "cuda/memory_pool.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::gpu {
namespace {

/// A pool keeps this share of its device's memory when a call waits, if it is free. To allocate it again would cost a
/// group_by() of 10^8 rows the same time as all of its work. If a program asks the runtime for more memory than is
/// free, it gets the memory that pools of the process keep.
constexpr std::uint64_t kShareKept = 16;

class Pool final : public MemoryResource {
 public:
  void* allocate(std::int64_t bytes, Stream stream) override {
    int device = 0;
    require(cudaGetDevice(&device), "asking for the current device");
    void* memory = nullptr;
    const std::string what = "allocating " + std::to_string(bytes) + " bytes on the device";
    const DuringCapture allowed;  // also during a capture of another thread
    require(cudaMallocFromPoolAsync(&memory, static_cast<std::size_t>(bytes), pool_of(device), stream), what.c_str());
    return memory;
  }
  void deallocate(void* memory, std::int64_t, Stream stream) noexcept override {
    const DuringCapture allowed;
    (void)cudaFreeAsync(memory, stream);
  }
};

cudaMemPool_t new_pool(int device) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {.type = cudaMemLocationTypeDevice, .id = device};
  const DuringCapture allowed;  // this may be the process's first call
  cudaMemPool_t pool = nullptr;
  require(cudaMemPoolCreate(&pool, &properties), "making a pool of device memory");
  std::uint64_t kept =
      static_cast<std::uint64_t>(devices()[static_cast<std::size_t>(device)].memory_bytes) / kShareKept;
  require(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "keeping freed memory");
  return pool;
}

std::vector<Device> find_devices() {
  std::vector<Device> all;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    forget_last_error();  // no driver, or no device: the list is empty
    return all;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties = {};
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, i); error != cudaSuccess) {
      forget_last_error();
      all.push_back({.error = cudaGetErrorString(error)});  // keeps its place: ordinals are those of the runtime
      continue;
    }
    all.push_back({.name = properties.name,
                   .major = properties.major,
                   .minor = properties.minor,
                   .multiprocessors = properties.multiProcessorCount,
                   .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
                   .l2_bytes = properties.l2CacheSize});
  }
  return all;
}

/// Returns a function of the driver, with which the library is not linked.
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  require(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found), name);
  if (found != cudaDriverEntryPointSuccess) throw Error(Code::device_failed, std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(function);
}

void require(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  throw Error(Code::device_failed, std::string(what) + ": error " + std::to_string(result) + " of the driver");
}

// Uses the stream's context: cudaStreamGetDevice() and cuStreamGetDevice() end a capture with an error.
int device_of(Stream stream) {
  static const auto stream_context = driver_function<PFN_cuStreamGetCtx_v9020>("cuStreamGetCtx", 9020);
  static const auto push = driver_function<PFN_cuCtxPushCurrent_v4000>("cuCtxPushCurrent", 4000);
  static const auto pop = driver_function<PFN_cuCtxPopCurrent_v4000>("cuCtxPopCurrent", 4000);
  static const auto context_device = driver_function<PFN_cuCtxGetDevice_v2000>("cuCtxGetDevice", 2000);
  CUcontext context = nullptr;
  require(stream_context(stream, &context), "asking for the stream's context");
  require(push(context), "asking for the stream's device");
  CUdevice device = 0;
  const CUresult result = context_device(&device);
  (void)pop(&context);
  require(result, "asking for the stream's device");
  return device;
}

// Work in a stream runs on the stream's device, whatever device is current. On arrays of another device it would fault.
void require_own_stream(int device, Stream stream) {
  if (stream == nullptr || devices().size() < 2) return;
  const int its = device_of(stream);
  if (its == device) return;
  throw Error(Code::invalid_argument, "the stream belongs to device " + std::to_string(its) + "; a call on device " +
                                          std::to_string(device) + " needs a stream of that device");
}

}  // namespace

cudaMemPool_t pool_of(int device) {
  static std::mutex mutex;
  static std::vector<cudaMemPool_t> pools(devices().size());
  const std::scoped_lock lock(mutex);
  cudaMemPool_t& pool = pools.at(static_cast<std::size_t>(device));
  if (pool == nullptr) pool = new_pool(device);
  return pool;
}

MemoryResource& pool() noexcept {
  static Pool all;
  return all;
}

const std::vector<Device>& devices() {
  static const std::vector<Device> all = find_devices();
  return all;
}

bool is_built() noexcept { return true; }

// ---------------------------------------------------------------------------------------------------------- workspace

Workspace::Workspace(WorkspaceSize size, int device, Stream stream, MemoryResource& memory)
    : Workspace(size, device, stream, memory, Serves::any_stream) {}

Workspace::Workspace(WorkspaceSize size, int device, Stream stream, MemoryResource& memory, Serves serves)
    : size_(size), device_(device), stream_(stream), memory_(memory) {
  const CurrentDevice current(device);
  require_own_stream(device, stream);
  try {
    if (size.kept > 0) {
      kept_ = memory.allocate(size.kept, stream);
      require(cudaMemsetAsync(kept_, 0, static_cast<std::size_t>(size.kept), stream), "clearing a workspace");
    }
    if (size.scratch > 0) scratch_ = memory.allocate(size.scratch, stream);
    // Now, and not when another stream is first used: that one may be captured, and then the default stream cannot be
    // used.
    if (serves == Serves::any_stream && (size.kept > 0 || size.scratch > 0)) {
      require(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
      require(cudaEventRecord(event_, stream), "clearing a workspace");
    }
  } catch (...) {
    free();
    throw;
  }
}

Workspace::~Workspace() {
  int before = 0;
  (void)cudaGetDevice(&before);
  restore_current(device_);
  free();
  restore_current(before);
}

void Workspace::free() noexcept {
  if (is_used_elsewhere_) (void)cudaStreamWaitEvent(stream_, event_);
  if (event_ != nullptr) (void)cudaEventDestroy(event_);
  if (scratch_ != nullptr) memory_.deallocate(scratch_, size_.scratch, stream_);
  if (kept_ != nullptr) memory_.deallocate(kept_, size_.kept, stream_);
}

/// After this, later work in `stream` finds the workspace cleared. Throws invalid_argument if it is too small.
void Workspace::begin_call(WorkspaceSize needed, Stream stream) {
  if (size_.kept < needed.kept || size_.scratch < needed.scratch) {
    throw Error(Code::invalid_argument, "the workspace has " + std::to_string(size_.kept) + " + " +
                                            std::to_string(size_.scratch) + " bytes; the call needs " +
                                            std::to_string(needed.kept) + " + " + std::to_string(needed.scratch));
  }
  if (needed.kept > 0) {
    if (is_used_ && size_.kept_as != needed.kept_as) {
      throw Error(Code::invalid_argument,
                  "the workspace was used by a function that keeps other data in it; use a separate workspace for this "
                  "function");
    }
    is_used_ = true;
    size_.kept_as = needed.kept_as;
  }
  if (stream == stream_ || event_ == nullptr || is_ordered_) return;
  if (capture_of(stream) == cudaStreamCaptureStatusNone) {
    require(cudaStreamWaitEvent(stream, event_), "waiting for a workspace");
  } else {  // a graph cannot wait for work outside it
    const DuringCapture allowed;
    require(cudaEventSynchronize(event_), "waiting for a workspace");
  }
  is_ordered_ = true;
}

void Workspace::end_call(Stream stream) noexcept {
  if (stream == stream_ || event_ == nullptr) return;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone) return;
  is_used_elsewhere_ = cudaEventRecord(event_, stream) == cudaSuccess || is_used_elsewhere_;
}

// --------------------------------------------------------------------------------------------------------------- calls

int make_current(int device) {
  if (device < 0 || device >= static_cast<int>(devices().size())) {
    throw Error(Code::no_device, devices().empty() ? "no CUDA device on this machine"
                                                   : "no device " + std::to_string(device) +
                                                         "; number of devices: " + std::to_string(devices().size()));
  }
  if (const std::string& error = devices()[static_cast<std::size_t>(device)].error; !error.empty()) {
    throw Error(Code::no_device, "device " + std::to_string(device) + " cannot be used: " + error);
  }
  int before = 0;
  require(cudaGetDevice(&before), "asking for the current device");
  if (before != device) require(cudaSetDevice(device), "choosing the device");
  return before;
}

void restore_current(int device) noexcept {
  int now = 0;
  if (cudaGetDevice(&now) == cudaSuccess && now != device) (void)cudaSetDevice(device);
}

void require_device_memory(const void* data, int device, const char* what) {
  cudaPointerAttributes attributes = {};
  require(cudaPointerGetAttributes(&attributes, data), what);
  const bool here = attributes.type == cudaMemoryTypeManaged ||
                    (attributes.type == cudaMemoryTypeDevice && attributes.device == device);
  if (here) return;
  const std::string where =
      attributes.type == cudaMemoryTypeDevice ? "is on device " + std::to_string(attributes.device) : "is host memory";
  throw Error(Code::invalid_argument, std::string(what) + " " + where + "; a call on device " + std::to_string(device) +
                                          " does not copy arrays");
}

void require_length(const std::int64_t* at, const void* result, std::int64_t result_bytes, int device) {
  if (at == nullptr) return;
  require_device_memory(at, device, "length");
  // Blocks may begin after another one has written the result.
  if (at == result || !upsweep::detail::same_or_apart(at, sizeof *at, result, result_bytes)) {
    throw Error(Code::invalid_argument, "the length is inside the result; it needs separate memory");
  }
}

const void* mapped_memory(const void* data, int device, const char* what) {
  cudaPointerAttributes attributes = {};
  require(cudaPointerGetAttributes(&attributes, data), what);
  const bool elsewhere = attributes.type == cudaMemoryTypeDevice && attributes.device != device;
  if (attributes.type == cudaMemoryTypeUnregistered || attributes.devicePointer == nullptr || elsewhere) {
    const std::string where = elsewhere ? "is on device " + std::to_string(attributes.device) : "is pageable memory";
    throw Error(Code::invalid_argument, std::string(what) + " " + where + "; kernels on device " +
                                            std::to_string(device) + " can access its memory and pinned memory " +
                                            "(cudaHostAlloc, cudaHostRegister)");
  }
  return attributes.devicePointer;
}

void require_no_capture(Stream stream, const char* instead) {
  if (capture_of(stream) == cudaStreamCaptureStatusNone) return;
  throw Error(Code::invalid_argument, std::string("a call that waits cannot be captured into a graph; use ") + instead);
}

void fetch(void* to, const void* from, std::int64_t bytes, Stream stream) {
  require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
          "copying from the device");
  require(cudaStreamSynchronize(stream), "waiting for the device");
}

void send(void* to, const void* from, std::int64_t bytes, Stream stream) {
  // From pageable memory, the copy is staged before the call returns.
  require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream),
          "copying to the device");
}

void clear(void* to, std::int64_t bytes, Stream stream) {
  require(cudaMemsetAsync(to, 0, static_cast<std::size_t>(bytes), stream), "clearing an output");
}

Launch launch_on(const Policy& policy) {
  require_own_stream(policy.device, policy.stream);
  const Device& device = devices()[static_cast<std::size_t>(policy.device)];
  return {.device = policy.device, .multiprocessors = device.multiprocessors, .stream = policy.stream};
}

DeviceCall::DeviceCall(const Policy& policy, WorkspaceSize needed) : launch_(launch_on(policy)) {
  workspace_ = policy.workspace;
  if (workspace_ == nullptr) {
    if (needed.kept == 0 && needed.scratch == 0) return;
    MemoryResource& memory = policy.memory != nullptr ? *policy.memory : pool();
    own_ = std::unique_ptr<Workspace>(
        new Workspace(needed, policy.device, policy.stream, memory, Workspace::Serves::one_stream));
    workspace_ = own_.get();
  }
  if (workspace_->device() != policy.device) {
    throw Error(Code::invalid_argument, "the workspace is on device " + std::to_string(workspace_->device()) +
                                            "; the call is on device " + std::to_string(policy.device));
  }
  workspace_->begin_call(needed, policy.stream);
  launch_.kept = workspace_->kept();
  launch_.scratch = workspace_->scratch();
  launch_.size = workspace_->size();
}

DeviceCall::~DeviceCall() {
  if (workspace_ != nullptr) workspace_->end_call(launch_.stream);
}

}  // namespace upsweep::gpu
