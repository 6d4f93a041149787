// SPDX-License-Identifier: Apache-2.0
// Inside of server/ only: one accepted connection, request after request. The file that includes
// Beast is http_connection.cc; http_server.cc needs asio alone. Everything runs on the connection's
// strand; the Responder and Stream that handlers hold post to it through ConnectionHost.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <memory>

#include "server/http_server.h"

namespace sky::server {

class Connection {
 public:
  virtual ~Connection() = default;
  // Reads the first request; from then on the connection keeps itself alive.
  virtual void Begin() = 0;
  // Ends streams and idle connections, lets a whole answer finish.
  virtual void Finish() = 0;
  virtual void Abort() = 0;
};

// What a connection needs of the server that it belongs to.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual const HttpServerOptions& options() const = 0;
  virtual const Handler& handler() const = 0;
  // Runs `task` on the strand; drops it once the server has stopped.
  virtual void Post(const boost::asio::any_io_executor& strand, std::function<void()> task) = 0;
  virtual bool finishing() const = 0;
  virtual void Closed(const Connection* connection) = 0;
};

std::shared_ptr<Connection> MakeConnection(boost::asio::ip::tcp::socket socket,
                                           std::shared_ptr<ConnectionHost> host);

}  // namespace sky::server
