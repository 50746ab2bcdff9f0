import COpenSSL

/// Converts an ECDSA signature between its two encodings: JOSE's r‖s, each of `width` bytes (32 for P-256), and ASN.1
/// DER.
package enum ECDSASignature {
    package static func raw(fromDER der: [UInt8], width: Int = 32) -> [UInt8]? {
        guard der.first == 0x30, der.count <= 2 * width + 16 else { return nil }
        return der.withUnsafeBufferPointer { buffer -> [UInt8]? in
            var position = buffer.baseAddress
            guard let signature = d2i_ECDSA_SIG(nil, &position, der.count) else {
                ERR_clear_error()
                return nil
            }
            defer { ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: 2 * width)
            let ok = raw.withUnsafeMutableBufferPointer { raw -> Bool in
                guard let base = raw.baseAddress else { return false }
                return BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, Int32(width)) == width
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + width, Int32(width)) == width
            }
            return ok ? raw : nil
        }
    }

    package static func der(fromRaw raw: [UInt8], width: Int = 32) -> [UInt8]? {
        guard raw.count == 2 * width, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let r = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, Int32(width), nil) }
        let s = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress.map { $0 + width }, Int32(width), nil) }
        guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var der = [UInt8](repeating: 0, count: 2 * width + 16)
        let length = der.withUnsafeMutableBufferPointer { buffer -> Int32 in
            var position = buffer.baseAddress
            return i2d_ECDSA_SIG(signature, &position)
        }
        return length > 0 ? Array(der.prefix(Int(length))) : nil
    }
}
