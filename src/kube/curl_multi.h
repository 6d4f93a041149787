// SPDX-License-Identifier: Apache-2.0
// One connection pool of libcurl, driven by an IoLoop: sockets and timers of a curl multi handle
// become watches and timers of the loop. Handles are void*, so that libcurl stays out of headers.
// Loop thread only.
#pragma once

#include <functional>

#include "kube/io_loop.h"

namespace sky::kube {

class CurlMulti {
 public:
  // on_done gets an easy handle that has ended, and its CURLcode; it must Remove it, and may Add
  // others.
  using OnDone = std::function<void(void* easy, int curl_code)>;
  CurlMulti(IoLoop& loop, long max_idle_connections, OnDone on_done);
  ~CurlMulti();  // all handles are removed by then
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  void Add(void* easy);
  void Remove(void* easy);  // not inside one of libcurl's callbacks

 private:
  static int OnSocket(void* easy, int fd, int what, void* self, void*);
  static int OnTimer(void* multi, long milliseconds, void* self);
  void Act(int fd, int events);

  IoLoop& loop_;
  void* multi_;
  OnDone on_done_;
  TimerId timer_ = 0;
};

}  // namespace sky::kube
