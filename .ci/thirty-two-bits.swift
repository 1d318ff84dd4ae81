// Checks `TimeArithmetic` where an `Int` has 32 bits; `.ci/thirty-two-bits` compiles and
// runs it. Returns the number of the check that fails, or zero.

@_cdecl("check")
public func check() -> Int32 {
  typealias Time = TimeArithmetic
  let century: UInt64 = 3_153_600_000_000_000_000
  let atto: Int64 = 1_000_000_000_000_000_000
  // These numbers are opaque to the compiler, so it cannot evaluate the calls in advance.
  let (zero, one) = (opaque(0), opaque(1))
  guard opaque(Int64(Int.max)) == 2_147_483_647 else { return 1 }
  guard Time.longestSeconds == 3_153_600_000 else { return 2 }
  guard Time.nanoseconds(seconds: zero, attoseconds: zero) == 0 else { return 3 }
  guard Time.nanoseconds(seconds: 3 * one, attoseconds: zero) == 3_000_000_000 else { return 4 }
  guard Time.nanoseconds(seconds: 86_400 * one, attoseconds: atto / 2) == 86_400_500_000_000
  else { return 5 }
  guard Time.nanoseconds(seconds: -1 * one, attoseconds: zero) == 0 else { return 6 }
  guard Time.nanoseconds(seconds: zero, attoseconds: -5 * one) == 0 else { return 7 }
  guard Time.nanoseconds(seconds: .max, attoseconds: atto - one) == century else { return 8 }
  guard Time.nanoseconds(seconds: .min, attoseconds: 1 - atto) == 0 else { return 9 }
  guard Time.nanoseconds(seconds: 3_153_600_000 - one, attoseconds: atto - one) < century
  else { return 10 }
  let now = UInt64(bitPattern: 5_000_000_000 * one)
  guard Time.time(2_200_000_000, after: now) == 7_200_000_000 else { return 11 }
  guard Time.time(.max - 7, after: now) == .max - 1 else { return 12 }
  guard Time.time(.max - now, after: now) == .max - 1 else { return 13 }
  return 0
}

@inline(never) @_optimize(none)
private func opaque(_ number: Int64) -> Int64 { number }
