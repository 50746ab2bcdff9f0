// The system's C library, whichever it is, and what differs between systems. No other file imports a C library.

@_exported import CPlatform

#if canImport(Darwin)
    @_exported import Darwin
#elseif canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#endif
