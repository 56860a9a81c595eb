// A workload that only makes steps: until the order to end, or three without a watcher.
#include "step_file.h"

int main() {
  carpool::StepFile steps;
  steps.set_units(4);
  int done = 0;
  bool going_on = true;
  while (going_on && (steps.watched() || done < 3)) {
    steps.publish();
    ++done;
    going_on = steps.obey([] {});
  }
  return 0;
}
