import COpenSSL

/// OpenSSL's decoder for PEM keys. Making a decoder costs more than reading a key, so one decoder reads many keys. Only
/// one thread may use it at a time.
package final class KeyReader {
    private let context: OpaquePointer
    /// The memory to which the decoder writes the key.
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
        // An empty pass phrase prevents OpenSSL from asking for one on the terminal.
        OSSL_DECODER_CTX_set_passphrase(context, [0], 0)
    }

    deinit {
        OSSL_DECODER_CTX_free(context)
        target.deallocate()
    }

    /// Reads the key in `pem`, which the caller then owns; `nil` if there is none.
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
