// SPDX-License-Identifier: Apache-2.0
#include "kube/credentials.h"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/files.h"
namespace sky::kube {
namespace {

constexpr Duration kTokenAge = std::chrono::seconds(50);
constexpr Duration kTlsAge = std::chrono::seconds(60);

Result<std::string> TextOf(const Material& material) {
  if (material.file.empty()) return material.text;
  std::string text = TRY(ReadFile(material.file));
  if (text.empty()) return Fail(Code::kInvalid, "{}: the file is empty", material.file);
  return text;
}

Result<std::string> ReadToken(const Material& material) {
  std::string text = TRY(TextOf(material), "the token");
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) {
    if (material.empty()) return std::string();
    return Fail(Code::kInvalid, "the token: {}: nothing but white space", material.file);
  }
  text = text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
  if (text.find_first_of("\r\n") != std::string::npos)
    return Fail(Code::kInvalid, "the token has several lines");
  return text;
}

Result<std::string> ReadPem(const Material& material, std::string_view what) {
  std::string text = TRY(TextOf(material), "{}", what);
  if (!material.empty() && text.find("-----BEGIN ") == std::string::npos)
    return Fail(Code::kInvalid, "{}{}{} is not in PEM form", what, material.file.empty() ? "" : " ",
                material.file);
  return text;
}

Result<TlsMaterial> ReadTls(const Access& access) {
  TlsMaterial tls;
  tls.ca = TRY(ReadPem(access.ca, "the certificate authority"));
  tls.certificate = TRY(ReadPem(access.client_certificate, "the client certificate"));
  tls.key = TRY(ReadPem(access.client_key, "the client key"));
  return tls;
}

}  // namespace

Result<Credentials> Credentials::Load(const Access& access, const Clock& clock) {
  Credentials credentials(access, clock);
  credentials.token_ = TRY(ReadToken(access.token), "{}", access.origin);
  credentials.tls_ = std::make_shared<const TlsMaterial>(TRY(ReadTls(access), "{}", access.origin));
  credentials.token_read_ = credentials.tls_read_ = clock.Mono();
  return credentials;
}

const std::string& Credentials::Token() {
  if (clock_->Mono() - token_read_ >= kTokenAge) ReadTokenAgain();
  return token_;
}

void Credentials::ReadTokenAgain() {
  if (access_.token.file.empty()) return;
  token_read_ = clock_->Mono();
  if (Result<std::string> token = ReadToken(access_.token))
    token_ = std::move(*token);
  else
    spdlog::warn("{}; the last good one stays in use", token.error().message());
}

bool Credentials::RenewToken(const std::string& refused) {
  if (token_ == refused) ReadTokenAgain();
  return token_ != refused;
}

std::shared_ptr<const TlsMaterial> Credentials::Tls() {
  const MonoTime now = clock_->Mono();
  const bool files = !access_.ca.file.empty() || !access_.client_certificate.file.empty() ||
                     !access_.client_key.file.empty();
  if (!files || now - tls_read_ < kTlsAge) return tls_;
  tls_read_ = now;
  Result<TlsMaterial> tls = ReadTls(access_);
  if (!tls)
    spdlog::warn("{}; what was read before stays in use", tls.error().message());
  else if (*tls != *tls_)
    tls_ = std::make_shared<const TlsMaterial>(std::move(*tls));
  return tls_;
}

}  // namespace sky::kube
