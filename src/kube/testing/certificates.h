// SPDX-License-Identifier: Apache-2.0
// Throw-away certificates for tests of TLS, made in memory: an authority, and what it signs.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "base/check.h"

namespace sky::kube::testing {

class Certificate {
 public:
  // name: the common name; alternatives: "DNS:kubernetes,IP:127.0.0.1" or "". issuer null: an
  // authority.
  Certificate(const std::string& name, const std::string& alternatives,
              const Certificate* issuer = nullptr)
      : key_(EVP_EC_gen("P-256"), &EVP_PKEY_free), x509_(X509_new(), &X509_free) {
    static long serial = 1;
    X509* x509 = x509_.get();
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, key_.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    const Certificate& signer = issuer != nullptr ? *issuer : *this;
    X509_set_issuer_name(x509, X509_get_subject_name(signer.x509_.get()));
    AddExtension(NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
    if (!alternatives.empty()) AddExtension(NID_subject_alt_name, alternatives);
    SKY_CHECK(X509_sign(x509, signer.key_.get(), EVP_sha256()) > 0);
  }

  std::string CertificatePem() const {
    return Pem([&](BIO* bio) { PEM_write_bio_X509(bio, x509_.get()); });
  }
  std::string KeyPem() const {
    return Pem([&](BIO* bio) {
      PEM_write_bio_PrivateKey(bio, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }

  // Of a server with this certificate; clients: whoever must have signed a client's, null to ask
  // none.
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> ServerContext(
      const Certificate* clients = nullptr) const {
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()),
                                                              &SSL_CTX_free);
    SSL_CTX_use_certificate(context.get(), x509_.get());
    SSL_CTX_use_PrivateKey(context.get(), key_.get());
    if (clients != nullptr) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), clients->x509_.get());
      SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    return context;
  }

 private:
  void AddExtension(int id, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
    SKY_CHECK(extension != nullptr, "{}", value);
    X509_add_ext(x509_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }

  template <class F>
  static std::string Pem(F&& write) {
    BIO* bio = BIO_new(BIO_s_mem());
    write(bio);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<size_t>(size));
    BIO_free(bio);
    return text;
  }

  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
  std::unique_ptr<X509, decltype(&X509_free)> x509_;
};

}  // namespace sky::kube::testing
