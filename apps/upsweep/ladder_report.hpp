// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/ladder_report.hpp: formats climbed ladders, the list of ladders, and GPUs as text of 80 columns and as
// JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "upsweep/climb.hpp"
#include "upsweep/gpu.hpp"
#include "values.hpp"

namespace upsweep::command {

/// A GPU as its driver describes it.
Json gpu_json(const gpu::Device& gpu);
/// Measures the link of every usable GPU. link_json() formats the measurements of one GPU.
std::vector<gpu::LinkTimes> measure_links();
Json link_json(const gpu::LinkTimes& link);
/// The machine's cores, caches and GPUs.
Json machine_json();

std::string ladders_text();
Json ladders_json();

std::string climb_text(const std::vector<Group>& groups);
/// Whether climb_text() omits figures of rungs because the terminal is narrow.
bool omits_figures(const std::vector<Group>& groups);
Json climb_json(std::string_view problem, const std::vector<Group>& groups);

}  // namespace upsweep::command
