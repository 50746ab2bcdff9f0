import COpenSSL

/// OpenSSL's decoder for PEM keys. Making one costs more than reading a key, so one decoder reads many keys, by one
/// thread at a time.
package final class KeyReader {
    private let context: OpaquePointer
    /// Where the decoder puts the key.
    private let target: UnsafeMutablePointer<OpaquePointer?>

    package init() throws(KeyError) {
        OpenSSL.prepare()
        target = .allocate(capacity: 1)
        target.initialize(to: nil)
        guard let context = understudy_pem_decoder(target) else {
            target.deallocate()
            throw KeyError("out of memory")
        }
        self.context = context
        // An empty pass phrase, so that OpenSSL never asks for one on the terminal.
        OSSL_DECODER_CTX_set_passphrase(context, [0], 0)
    }

    deinit {
        OSSL_DECODER_CTX_free(context)
        target.deallocate()
    }

    /// The key in `pem`, to be owned by the caller; `nil` when there is none.
    func read(_ pem: [UInt8]) -> OpaquePointer? {
        target.pointee = nil
        let isRead = pem.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            var rest = bytes.count
            return OSSL_DECODER_from_data(context, &position, &rest) == 1
        }
        if !isRead { ERR_clear_error() }
        return isRead ? target.pointee : nil
    }
}
