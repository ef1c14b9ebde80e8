// Lists the near-copies among the lines of a file: clusters, and the nearest other line of each.
//
//   near_copies FILE [THRESHOLD]
#include <nearkin.hpp>

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char **argv) {
  if (argc < 2) {
    std::cerr << "usage: near_copies FILE [THRESHOLD]\n";
    return 2;
  }
  const std::string threshold = std::string("threshold=") + (argc > 2 ? argv[2] : "0.7");
  std::ifstream file(argv[1]);
  if (!file) {
    std::cerr << argv[1] << ": cannot read it\n";
    return 1;
  }
  try {
    nearkin::Index index = nearkin::Index::temporary(nearkin::Params("preset=short"));
    nearkin::Batch batch;
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
      try {
        batch.insert(std::to_string(number), index.sketch(line), line.substr(0, 40));
      } catch (const nearkin::Error &error) {
        if (error.status() != NK_EMPTY) throw;
      }
    }
    index.write(batch);
    std::size_t clusters = 0;
    index.each_cluster(nearkin::Query(threshold), [&](const std::vector<std::string> &keys) {
      clusters += 1;
      std::cout << "lines";
      for (const std::string &key : keys) std::cout << ' ' << key;
      std::cout << '\n';
      nearkin::Query others(threshold + ",limit=1");
      others.filter([&](const std::string &key, const std::string &) { return key != keys[0]; });
      const nearkin::Answer nearest = index.similar_to_key(keys[0], others);
      if (!nearest.matches.empty()) {
        std::cout << "  " << nearest.matches[0].similarity << ": " << nearest.matches[0].payload
                  << '\n';
      }
    });
    std::cout << index.size() << " lines, " << clusters << " clusters\n";
  } catch (const nearkin::Error &error) {
    std::cerr << error.what() << '\n' << error.advice() << '\n';
    return 1;
  }
  return 0;
}
