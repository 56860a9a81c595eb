// Kernels of the probes, compiled to PTX; their names are not mangled.
extern "C" {

__global__ void empty() {}

// Every thread block stays for so many nanoseconds.
__global__ void spin(unsigned long long nanoseconds) {
  unsigned long long began;
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - began < nanoseconds);
}
}
