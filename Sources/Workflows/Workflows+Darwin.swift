import Foundation

// All code of this module that differs between Apple's platforms and Linux.

#if canImport(Darwin)
  /// Waits until everything written is on the disk; returns `false` if the drive cannot
  /// tell.
  ///
  /// See the manual pages fsync(2) and fcntl(2), `F_FULLFSYNC`. `fsync` may leave the
  /// bytes in the cache of the drive; this call makes the drive write them, too, where
  /// its file system can.
  func emptyDriveCache(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_FULLFSYNC) == 0 }
#else
  @inline(__always)
  func emptyDriveCache(_ descriptor: Int32) -> Bool { false }
#endif
