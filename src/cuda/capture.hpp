// SPDX-License-Identifier: Apache-2.0
// cuda/capture.hpp: whether a stream is being captured into a graph, and what a thread may do in the meantime.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/check.hpp"

namespace upsweep::gpu {

inline cudaStreamCaptureStatus capture_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  require(cudaStreamIsCapturing(stream, &status), "asking whether the stream is being captured");
  return status;
}

/// During this object's lifetime this thread may allocate memory and create pools. A capture would otherwise forbid
/// that.
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
