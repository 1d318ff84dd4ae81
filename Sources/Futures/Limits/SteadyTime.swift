/// Turns what a user's clock says into a time that never goes back.
///
/// If the clock goes back, the time stands still at that moment and goes on from there.
struct SteadyTime {
  private var latest = Duration.zero
  /// By how much the clock has gone back in all.
  private var lag = Duration.zero

  /// - Parameter reading: What the clock says.
  mutating func advance(to reading: Duration) -> Duration {
    let time = reading.bounded + lag
    if time < latest { lag += latest - time }
    latest = max(latest, time)
    return latest
  }
}
