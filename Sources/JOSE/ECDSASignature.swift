import COpenSSL

/// ECDSA over P-256 in its two spellings: JOSE's 64 bytes r‖s, and ASN.1 DER.
package enum ECDSASignature {
    package static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        guard der.first == 0x30, der.count <= 80 else { return nil }
        return der.withUnsafeBufferPointer { buffer -> [UInt8]? in
            var position = buffer.baseAddress
            guard let signature = d2i_ECDSA_SIG(nil, &position, der.count) else {
                ERR_clear_error()
                return nil
            }
            defer { ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: 64)
            let ok = raw.withUnsafeMutableBufferPointer { raw -> Bool in
                guard let base = raw.baseAddress else { return false }
                return BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, 32) == 32
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + 32, 32) == 32
            }
            return ok ? raw : nil
        }
    }

    package static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let r = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, 32, nil) }
        let s = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress.map { $0 + 32 }, 32, nil) }
        guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var der = [UInt8](repeating: 0, count: 80)
        let length = der.withUnsafeMutableBufferPointer { buffer -> Int32 in
            var position = buffer.baseAddress
            return i2d_ECDSA_SIG(signature, &position)
        }
        return length > 0 ? Array(der.prefix(Int(length))) : nil
    }
}
