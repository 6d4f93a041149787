// SPDX-License-Identifier: Apache-2.0
// What the client and the informers count, as Prometheus text: made anew from their own numbers at
// each scrape, so nothing is counted twice. Any thread.
#pragma once

#include <string>

#include "kube/measured_transport.h"
#include "scheduler/feeds.h"

namespace sky::scheduler {

std::string KubeMetricsText(const kube::RequestStats& requests, const Feeds& feeds);

}  // namespace sky::scheduler
