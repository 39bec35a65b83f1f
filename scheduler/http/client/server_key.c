#include "scheduler/http/client/server_key.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/library/crypto_library.h"
#include "base/digest.h"
#include "base/text.h"
#include "scheduler/http/client/http_libraries.h"

static const char prefix[] = "sha256//";
enum { PREFIX_SIZE = sizeof prefix - 1, BASE64_SIZE = SERVER_KEY_TEXT_SIZE - PREFIX_SIZE - 1 };

bool server_key_is_text(const char *text) {
    if (!text_starts_with(text, prefix) || strlen(text) != SERVER_KEY_TEXT_SIZE - 1) return false;
    const char *at = text + PREFIX_SIZE;
    for (int i = 0; i < BASE64_SIZE - 1; i++)
        if (!isalnum((unsigned char)at[i]) && at[i] != '+' && at[i] != '/') return false;
    return at[BASE64_SIZE - 1] == '=';
}

static Error *print_key(X509 *certificate, char out[SERVER_KEY_TEXT_SIZE]) {
    unsigned char *der = NULL, base64[BASE64_SIZE + 1];
    int size = libcrypto.i2d_X509_PUBKEY(libcrypto.X509_get_X509_PUBKEY(certificate), &der);
    Digest digest;
    if (size <= 0) FAIL(CORRUPT, "the certificate has no public key");
    Error *error = digest_sha256(der, (size_t)size, &digest);
    libcrypto.CRYPTO_free(der, __FILE__, __LINE__);
    TRY(error);
    (void)libcrypto.EVP_EncodeBlock(base64, digest.bytes, DIGEST_SIZE);
    (void)snprintf(out, SERVER_KEY_TEXT_SIZE, "%s%s", prefix, (const char *)base64);
    return NULL;
}

Error *server_key_of_certificate(const char *pem, char out[SERVER_KEY_TEXT_SIZE]) {
    TRY(crypto_library_open());
    BIO *bio = libcrypto.BIO_new_mem_buf(pem, -1);
    if (!bio) FAIL(OUT_OF_MEMORY, "no memory for a certificate");
    X509 *certificate = libcrypto.PEM_read_bio_X509(bio, NULL, NULL, NULL);
    libcrypto.BIO_free(bio);
    if (!certificate) FAIL(CORRUPT, "there is no certificate in this PEM");
    Error *error = print_key(certificate, out);
    libcrypto.X509_free(certificate);
    return error;
}

static size_t discard(char *data, size_t size, size_t count, void *context) {
    (void)data, (void)context;
    return size * count;
}

/* Reads the first certificate of the connection, which is the server's. */
static Error *read_certificate(CURL *curl, const char *url, char out[SERVER_KEY_TEXT_SIZE]) {
    static const char name[] = "Cert:";
    struct curl_certinfo *chain = NULL;
    CURLcode code = libcurl.easy_getinfo(curl, CURLINFO_CERTINFO, &chain);
    if (code != CURLE_OK || !chain || chain->num_of_certs < 1)
        FAIL(UNREACHABLE, "%s: it shows no certificate", url);
    for (const struct curl_slist *at = chain->certinfo[0]; at; at = at->next)
        if (text_starts_with(at->data, name))
            return server_key_of_certificate(at->data + sizeof name - 1, out);
    FAIL(UNREACHABLE, "%s: it shows no certificate", url);
}

static Error *connect_only(
    CURL *curl, const char *url, uint32_t limit_ms, char out[SERVER_KEY_TEXT_SIZE]) {
    (void)libcurl.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)libcurl.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
    (void)libcurl.easy_setopt(curl, CURLOPT_PROXY, "");
    (void)libcurl.easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
    (void)libcurl.easy_setopt(curl, CURLOPT_CERTINFO, 1L);
    (void)libcurl.easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    (void)libcurl.easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    (void)libcurl.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)limit_ms);
    (void)libcurl.easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)limit_ms);
    (void)libcurl.easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard);
    if (libcurl.easy_setopt(curl, CURLOPT_URL, url) != CURLE_OK)
        FAIL(OUT_OF_MEMORY, "no memory for a request");
    CURLcode code = libcurl.easy_perform(curl);
    if (code == CURLE_OUT_OF_MEMORY) FAIL(OUT_OF_MEMORY, "no memory for a request");
    if (code == CURLE_URL_MALFORMAT) FAIL(INVALID, "%s: %s", url, libcurl.easy_strerror(code));
    if (code != CURLE_OK) FAIL(UNREACHABLE, "%s: %s", url, libcurl.easy_strerror(code));
    return read_certificate(curl, url, out);
}

Error *server_key_ask(const char *url, uint32_t limit_ms, char out[SERVER_KEY_TEXT_SIZE]) {
    if (!text_starts_with(url, "https://")) FAIL(INVALID, "%s: only https:// has a key", url);
    TRY(http_libraries_open_curl());
    CURL *curl = libcurl.easy_init();
    if (!curl) FAIL(OUT_OF_MEMORY, "no memory for a client");
    Error *error = connect_only(curl, url, limit_ms, out);
    libcurl.easy_cleanup(curl);
    return error;
}
