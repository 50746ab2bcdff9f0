// This file imports the system's C library, and our functions for the differences between systems. No other file
// imports a C library.

@_exported import CPlatform

#if canImport(Darwin)
    @_exported import Darwin
#elseif canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#endif
