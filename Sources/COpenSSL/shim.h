// This is the part of OpenSSL 3 that JOSE and HTTPClient use. Macros, which Swift can't call, are functions here.
#ifndef UNDERSTUDY_COPENSSL_SHIM_H
#define UNDERSTUDY_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/decoder.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static inline EVP_PKEY *understudy_generate_rsa(unsigned int bits) { return EVP_RSA_gen(bits); }
static inline EVP_PKEY *understudy_generate_ec(const char *curve) { return EVP_EC_gen(curve); }
static inline EVP_PKEY *understudy_generate_ed25519(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); }

// Makes a decoder for PEM keys. It keeps the pointer to the name of its input type, so that name is a constant in C.
static inline OSSL_DECODER_CTX *understudy_pem_decoder(EVP_PKEY **target) {
  return OSSL_DECODER_CTX_new_for_pkey(target, "PEM", NULL, NULL, 0, NULL, NULL);
}

// Makes a public key of its big-endian numbers, or returns NULL if they are invalid. It is in C because parameter
// builders keep pointers to names until the key is made, and a Swift string's pointer isn't valid that long.
static inline EVP_PKEY *understudy_key_from(const char *type, OSSL_PARAM_BLD *builder) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  if (parameters != NULL && context != NULL && EVP_PKEY_fromdata_init(context) == 1)
    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parameters);
  return key;
}

static inline EVP_PKEY *understudy_rsa_public(const unsigned char *n, size_t n_size, const unsigned char *e,
                                              size_t e_size) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  BIGNUM *modulus = BN_bin2bn(n, (int)n_size, NULL), *exponent = BN_bin2bn(e, (int)e_size, NULL);
  if (builder != NULL && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
      OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
    key = understudy_key_from("RSA", builder);
  OSSL_PARAM_BLD_free(builder);
  BN_free(modulus);
  BN_free(exponent);
  return key;
}

static inline EVP_PKEY *understudy_ec_public(const char *curve, const unsigned char *point, size_t size) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  if (builder != NULL && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, curve, 0) == 1 &&
      OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, size) == 1)
    key = understudy_key_from("EC", builder);
  OSSL_PARAM_BLD_free(builder);
  return key;
}

static inline int understudy_bio_get_mem(BIO *bio, char **data) { return (int)BIO_get_mem_data(bio, data); }

static inline int understudy_ssl_set_host(SSL *ssl, const char *host) {
  return SSL_set_tlsext_host_name(ssl, host);
}
static inline void understudy_ssl_require_tls12(SSL_CTX *context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}


// Adds a certificate behind the server's own. The context then owns it.
static inline int understudy_ssl_add_chain(SSL_CTX *context, X509 *certificate) {
  return (int)SSL_CTX_add_extra_chain_cert(context, certificate);
}

// Makes a private RSA key that signs without blinding, or returns NULL. OpenSSL 3 can switch blinding off only by its
// older interface.
static inline RSA *understudy_unblinded_rsa(EVP_PKEY *key) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  RSA *rsa = RSAPrivateKey_dup(EVP_PKEY_get0_RSA(key));
  if (rsa != NULL) RSA_set_flags(rsa, RSA_FLAG_NO_BLINDING);
  return rsa;
#pragma clang diagnostic pop
}

// Signs a SHA-256 digest by RSASSA-PKCS1-v1_5. The signature is as long as the key's modulus. Returns 0 on failure.
static inline unsigned int understudy_rsa_sign_sha256(RSA *rsa, const unsigned char *digest, unsigned char *signature) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  unsigned int length = 0;
  return RSA_sign(NID_sha256, digest, 32, signature, &length, rsa) == 1 ? length : 0;
#pragma clang diagnostic pop
}

static inline void understudy_rsa_free(RSA *rsa) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  RSA_free(rsa);
#pragma clang diagnostic pop
}

#endif
