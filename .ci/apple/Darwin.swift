// The C library of Apple's platforms, as far as the package uses what that of Linux lacks.
// With this module at hand `canImport(Darwin)` holds. As true as its transcription, like
// `Foundation.swift` beside it; the differences in nullability of `pthread_key_create` and
// its like are not in it.

@_exported import Glibc

/// "fcntl(2)": asks the drive, too, to write what it has in its cache.
public let F_FULLFSYNC: Int32 = 51
