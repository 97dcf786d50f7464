// SPDX-License-Identifier: Apache-2.0
// cuda/capture.hpp: what a thread may do while it captures a stream into a graph.
#pragma once

#include <cuda_runtime_api.h>

namespace upsweep::gpu {

/// During this object's lifetime this thread may make memory and pools, which a capture of its own would else forbid.
class DuringCapture {
 public:
  DuringCapture() { exchange(); }
  ~DuringCapture() { exchange(); }
  DuringCapture(const DuringCapture&) = delete;
  DuringCapture& operator=(const DuringCapture&) = delete;

 private:
  void exchange() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }

  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace upsweep::gpu
