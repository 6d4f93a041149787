// SPDX-License-Identifier: Apache-2.0
// core/v1 and events.k8s.io/v1 are two views of one event. It is stored as core/v1; the other view
// has the same content under other names. Pure.
#pragma once

#include "lab/document.h"

namespace sky::lab {

// Members that only one view names keep their place.
Json ToEventsV1(Json core_event);
Json FromEventsV1(Json event);

}  // namespace sky::lab
