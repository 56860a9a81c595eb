#include "learn/tree_ensemble.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text/digest.hpp"
#include "learn/stored.hpp"

namespace carpool::learn {

namespace {

// Model files contain the nodes in their memory layout.
static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(TreeNode) == 16);

template <class T>
std::string encode(const std::vector<T>& items) {
  return base64_encode({reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T)});
}

template <class T>
Result<std::vector<T>> decode(const nlohmann::json& object, std::string_view key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_string()) {
    return broken_entry(key, "base64 text");
  }
  const auto bytes = base64_decode(found->get_ref<const std::string&>());
  if (!bytes || bytes->size() % sizeof(T) != 0) {
    return broken_entry(key, "base64 text of complete records");
  }
  std::vector<T> items(bytes->size() / sizeof(T));
  if (!items.empty()) {
    std::memcpy(items.data(), bytes->data(), bytes->size());
  }
  return items;
}

// Children come after their parent and are inside the tree, so that every walk ends at a leaf.
bool is_whole(const TreeNode* root, std::int64_t size, std::int64_t inputs) {
  for (std::int64_t index = 0; index < size; ++index) {
    const TreeNode& node = root[index];
    const bool leaf = node.feature == -1;
    const bool split =
        node.feature >= 0 && node.feature < inputs && node.skip >= 2 && index + node.skip < size;
    if (!std::isfinite(node.value) || !(leaf || split)) {
      return false;
    }
  }
  return size > 0;
}

}  // namespace

double predict_tree(const TreeNode* root, const float* inputs) {
  const TreeNode* node = root;
  while (node->feature >= 0) {
    node += static_cast<double>(inputs[node->feature]) <= node->value ? 1 : node->skip;
  }
  return node->value;
}

TreeEnsemble::TreeEnsemble(Eigen::Index inputs, double offset, double divisor)
    : inputs_(inputs), offset_(offset), divisor_(divisor) {}

void TreeEnsemble::add(const Tree& tree) {
  sizes_.push_back(static_cast<std::uint32_t>(tree.size()));
  nodes_.insert(nodes_.end(), tree.begin(), tree.end());
}

Eigen::VectorXd TreeEnsemble::predict(const Eigen::MatrixXd& rows) const {
  // Transposed, so that the inputs of one row are contiguous.
  const Eigen::MatrixXf inputs = rows.transpose().cast<float>();
  Eigen::VectorXd sums = Eigen::VectorXd::Zero(rows.rows());
  const TreeNode* root = nodes_.data();
  for (const std::uint32_t size : sizes_) {
    for (Eigen::Index row = 0; row < rows.rows(); ++row) {
      sums(row) += predict_tree(root, inputs.col(row).data());
    }
    root += size;
  }
  return (sums / divisor_).array() + offset_;
}

nlohmann::json TreeEnsemble::to_json() const {
  return {{"kind", kKind},
          {"inputs", static_cast<std::size_t>(inputs_)},
          {"offset", offset_},
          {"divisor", divisor_},
          {"sizes", encode(sizes_)},
          {"nodes", encode(nodes_)}};
}

Result<std::unique_ptr<Regressor>> TreeEnsemble::from_json(const nlohmann::json& stored) {
  const auto inputs = read_count(stored, "inputs");
  const auto offset = read_number(stored, "offset");
  const auto divisor = read_number(stored, "divisor");
  auto sizes = decode<std::uint32_t>(stored, "sizes");
  auto nodes = decode<TreeNode>(stored, "nodes");
  if (!inputs || *inputs > std::numeric_limits<std::int32_t>::max()) {
    return broken_entry("inputs", "a number of columns");
  }
  if (!offset || !divisor || !(*divisor > 0.0)) {
    return broken_entry("divisor", "a number above 0 with a finite \"offset\"");
  }
  if (!sizes || !nodes) {
    return tl::unexpected(sizes ? nodes.error() : sizes.error());
  }
  const auto columns = static_cast<std::int64_t>(*inputs);
  std::size_t begin = 0;
  for (const std::uint32_t size : *sizes) {
    if (size > nodes->size() - begin || !is_whole(nodes->data() + begin, size, columns)) {
      return broken_entry("nodes", "a list of complete trees");
    }
    begin += size;
  }
  if (begin != nodes->size()) {
    return broken_entry("nodes", "as long as \"sizes\" requires");
  }
  auto ensemble = std::make_unique<TreeEnsemble>(columns, *offset, *divisor);
  ensemble->sizes_ = *std::move(sizes);
  ensemble->nodes_ = *std::move(nodes);
  return ensemble;
}

}  // namespace carpool::learn
