// The environment of a job. Copies share one map until one of them changes, so the jobs of an
// array hold it once.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace carpool {

class Environment {
 public:
  using Map = std::map<std::string, std::string>;

  Environment() = default;
  Environment(Map variables)  // NOLINT(google-explicit-constructor): stands for a map
      : shared_(variables.empty() ? nullptr : std::make_shared<const Map>(std::move(variables))) {}
  Environment(std::initializer_list<Map::value_type> variables) : Environment(Map(variables)) {}

  [[nodiscard]] const Map& map() const { return shared_ ? *shared_ : none(); }
  operator const Map&() const { return map(); }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] Map::const_iterator begin() const { return map().begin(); }
  [[nodiscard]] Map::const_iterator end() const { return map().end(); }
  [[nodiscard]] std::size_t size() const { return map().size(); }
  [[nodiscard]] bool empty() const { return map().empty(); }
  [[nodiscard]] const std::string& at(const std::string& name) const { return map().at(name); }

  void set(const std::string& name, std::string value) {
    Map changed = map();
    changed[name] = std::move(value);
    *this = Environment(std::move(changed));
  }
  void clear() { shared_.reset(); }

  bool operator==(const Environment& other) const {
    return shared_ == other.shared_ || map() == other.map();
  }

 private:
  static const Map& none() {
    static const Map none_set;
    return none_set;
  }

  std::shared_ptr<const Map> shared_;  // null: empty
};

}  // namespace carpool
