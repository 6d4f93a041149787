// SPDX-License-Identifier: Apache-2.0
#include "kube/curl_multi.h"

#include <curl/curl.h>
#include <sys/epoll.h>

#include <chrono>
#include <utility>

#include "base/check.h"

namespace sky::kube {

CurlMulti::CurlMulti(IoLoop& loop, long max_idle_connections, OnDone on_done)
    : loop_(loop), multi_(curl_multi_init()), on_done_(std::move(on_done)) {
  SKY_CHECK(multi_ != nullptr, "curl_multi_init");
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlMulti::OnSocket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlMulti::OnTimer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, max_idle_connections);
}

CurlMulti::~CurlMulti() {
  curl_multi_cleanup(multi_);
  loop_.Cancel(timer_);
}

void CurlMulti::Add(void* easy) {
  const CURLMcode added = curl_multi_add_handle(multi_, easy);
  SKY_CHECK(added == CURLM_OK, "curl_multi_add_handle: {}", curl_multi_strerror(added));
}

void CurlMulti::Remove(void* easy) { curl_multi_remove_handle(multi_, easy); }

int CurlMulti::OnSocket(void*, int fd, int what, void* self, void*) {
  auto* multi = static_cast<CurlMulti*>(self);
  if (what == CURL_POLL_REMOVE) {
    multi->loop_.Unwatch(fd);
    return 0;
  }
  const uint32_t events =
      ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0u) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0u);
  multi->loop_.Watch(fd, events, [multi, fd](uint32_t got) {
    const int mask = ((got & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                     ((got & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                     ((got & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
    multi->Act(fd, mask);
  });
  return 0;
}

int CurlMulti::OnTimer(void*, long milliseconds, void* self) {
  auto* multi = static_cast<CurlMulti*>(self);
  multi->loop_.Cancel(std::exchange(multi->timer_, 0));
  if (milliseconds < 0) return 0;
  multi->timer_ = multi->loop_.RunAfter(std::chrono::milliseconds(milliseconds),
                                        [multi] { multi->Act(CURL_SOCKET_TIMEOUT, 0); });
  return 0;
}

void CurlMulti::Act(int fd, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, events, &running);
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    on_done_(message->easy_handle, message->data.result);
  }
}

}  // namespace sky::kube
