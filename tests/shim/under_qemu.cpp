// Starts TESTED_PROGRAM, which is for AArch64, under qemu with the same arguments. Variables of the
// loader go to the program only: this one is linked statically, and qemu must not preload a library
// for another processor.
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

int main(int /*count*/, char** arguments) {
  std::vector<std::string> words{"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"};
  for (const char* name : {"LD_PRELOAD", "LD_LIBRARY_PATH"}) {
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') {
      words.insert(words.end(), {"-E", std::string(name) + "=" + value});
    }
    ::unsetenv(name);
  }
  words.emplace_back(TESTED_PROGRAM);
  for (char** argument = arguments + 1; *argument != nullptr; ++argument) {
    words.emplace_back(*argument);
  }
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  return 127;
}
