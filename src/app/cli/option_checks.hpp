// What an option's value may be, for the command-line library to ask.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class Validator;
}  // namespace CLI

namespace carpool::app {

[[nodiscard]] CLI::Validator whole_number();
[[nodiscard]] CLI::Validator share_of_one();
// Of a bound: 0.5 to 0.999.
[[nodiscard]] CLI::Validator confidence();
[[nodiscard]] CLI::Validator above_zero();
// Seconds from `least` to a year.
[[nodiscard]] CLI::Validator seconds_from(double least);

}  // namespace carpool::app
