#include "spec/isa_reader.h"

#include <gtest/gtest.h>

#include "folder.h"

namespace tw::isa_reader_test {
namespace {

/// A table to which a test appends rows or keys.
const std::string table =
    "isa: toy\n"
    "architecture: toybox\nconvention: play\n"
    "features: [toys]\n"
    "vector_bytes: 16\n"
    "default_core: generic\n"
    "registers:\n"
    "  v: {kind: vector, views: {v: \"v{0..3}\", q: \"q{0..3}\"}}\n"
    "  r: {kind: scalar, views: {x: [a, b, \"x{9..8}\"]}}\n"
    "c: {includes: [toy.h], target: toy, types: {i: int_t, f: float_t}, casts: {\"*\": "
    "\"to_{to}({x})\"}}\n"
    "assembly: {head: [.toy], rules: {loop_end: [\"dec {n}\", \"jnz {label}\"], branch: {equal: "
    "\"je {a}, {b}, {label}\"}}}\n";

/// How its functions are called.
const std::string play =
    "args_register: a\ncallee_saved: [q2, v3, \"x{7..8}\"]\nleave: ret\nframe_align: 8\n"
    "unwind: {begin: \".play {symbol}\"}\n";

Isa read(const std::string& text) {
  const Folder folder;
  folder.write("isa/toy.yaml", text);
  folder.write("abi/play.yaml", play);
  return read_isa(folder.path(), "toy");
}

std::string error(const std::string& text) {
  const Folder folder;
  folder.write("isa/toy.yaml", text);
  folder.write("abi/play.yaml", play);
  return folder.error([&] { read_isa(folder.path(), "toy"); });
}

/// The error of one row, at line 13.
std::string row_error(const std::string& row) {
  return error(table + "rows:\n  - {" + row + "}\n");
}

TEST(IsaReader, ReadsATable) {
  const Isa isa = read(table +
                       "rows:\n  - {means: \"d = fadd(a, b)\", asm: \"fadd {d}, {a}, "
                       "{b:q}\", class: fadd, c: \"{a} + {b}\", c_type: f}\n");
  EXPECT_EQ(isa.name, "toy");
  EXPECT_EQ(isa.architecture, "toybox");
  EXPECT_EQ(isa.features, std::vector<std::string>{"toys"});
  EXPECT_EQ(isa.vector_bytes, Length(16));
  EXPECT_EQ(isa.c_types.at("f"), "float_t");
  EXPECT_EQ(isa.assembly_head, std::vector<std::string>{".toy"});
  EXPECT_EQ(isa.rules.loop_end, (std::vector<std::string>{"dec {n}", "jnz {label}"}));
  EXPECT_EQ(isa.rules.branch.at("equal"), std::vector<std::string>{"je {a}, {b}, {label}"});
  EXPECT_EQ(isa.convention.frame_align, 8);
  EXPECT_TRUE(isa.can_print_c);
  EXPECT_TRUE(isa.can_print_assembly);
  ASSERT_EQ(isa.rows.size(), 1U);
  const Row& row = isa.rows[0];
  EXPECT_EQ(row.name, "fadd");
  EXPECT_EQ(row.where.line, 13);
  ASSERT_EQ(row.operands.size(), 3U);
  EXPECT_EQ(row.operands[0].file, "v");
  EXPECT_EQ(isa.row_for(OpCode::fadd), &row);
}

TEST(IsaReader, ReadsRegisterFiles) {
  const Isa isa = read(table);
  ASSERT_EQ(isa.files.size(), 2U);
  const RegisterFile& v = isa.files[0];
  EXPECT_EQ(v.bytes, Length(16));
  EXPECT_EQ(v.count(), 4);
  EXPECT_EQ(v.views[1].first, "q");
  EXPECT_EQ(v.views[1].second[3], "q3");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(is_callee_saved(v, i, isa.convention), i >= 2) << i;
  EXPECT_EQ(v.consecutive, (std::vector<int>{0, 1, 2, 3}));
  const RegisterFile& r = isa.files[1];
  EXPECT_EQ(r.bytes, Length(8));
  EXPECT_EQ(r.views[0].second, (std::vector<std::string>{"a", "b", "x9", "x8"}));
  EXPECT_EQ(r.consecutive, (std::vector<int>{0, 1, 9, 8}));
  EXPECT_FALSE(isa.can_print_c);
}

TEST(IsaReader, ReadsEveryKeyOfARow) {
  const Isa isa = read(table +
                       "rows:\n"
                       "  - means: \"d0 = load(p)[o]; d1 = load(p)[o+16]; q = iadd_imm(p)[32]\"\n"
                       "    name: pair\n"
                       "    bytes: 8\n"
                       "    tied: {q: p}\n"
                       "    tuple: [d0, d1]\n"
                       "    early_clobber: [d0]\n"
                       "    imm: {o: {bits: 7, signed: false, scale: 16}}\n"
                       "    operands: {d1: {file: v, allowed: [\"{0..1}\", 3], c_type: f}}\n"
                       "    asm: [\"ldp {d0}, {d1:q}, [{p}], #{o}\", nop]\n"
                       "    class: [load_pair, scalar]\n"
                       "    mode: streaming\n"
                       "    clobbers: [flags, \"v:2\"]\n");
  const Row& row = isa.rows.at(0);
  EXPECT_EQ(row.name, "pair");
  EXPECT_EQ(row.bytes, Length(8));
  EXPECT_EQ(row.operand("q")->tied, "p");
  EXPECT_EQ(row.operand("d0")->tuple, "d0");
  EXPECT_EQ(row.operand("d1")->tuple, "d0");
  EXPECT_EQ(row.operand("p")->tuple, "");
  EXPECT_TRUE(row.operand("d0")->early_clobber);
  EXPECT_FALSE(row.operand("d1")->early_clobber);
  EXPECT_EQ(row.operand("d1")->allowed, (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(row.operand("d1")->c_type, "f");
  ASSERT_EQ(row.immediates.size(), 1U);
  EXPECT_TRUE(row.immediates[0].fits(127 * 16));
  EXPECT_FALSE(row.immediates[0].fits(128 * 16));
  EXPECT_FALSE(row.immediates[0].fits(8));
  EXPECT_EQ(row.assembly.size(), 2U);
  EXPECT_EQ(row.issue_classes, (std::vector<std::string>{"load_pair", "scalar"}));
  EXPECT_EQ(row.mode, Mode::streaming);
  EXPECT_EQ(row.clobbers, (std::vector<std::string>{"flags", "v:2"}));
}

TEST(IsaReader, ImmediatesCountMultiplesOfAVectorLength) {
  const Isa isa = read(table +
                       "rows:\n"
                       "  - means: \"d = load(p)[o]\"\n"
                       "    imm: {o: {bits: 4, scale: 16vl, min: -3}}\n"
                       "    asm: \"ld1b {d}, [{p}, #{o}, mul vl]\"\n"
                       "    class: load\n");
  const Immediate& field = isa.rows.at(0).immediates.at(0);
  EXPECT_TRUE(field.fits(0));
  EXPECT_TRUE(field.fits(Length(0, 7 * 16)));
  EXPECT_TRUE(field.fits(Length(0, -3 * 16)));
  EXPECT_FALSE(field.fits(Length(0, -4 * 16)));  // encoded, it is less than the least
  EXPECT_FALSE(field.fits(Length(0, 8 * 16)));
  EXPECT_FALSE(field.fits(Length(0, 8)));
  EXPECT_FALSE(field.fits(16));
  EXPECT_FALSE(field.fits(Length(16, 16)));
  EXPECT_FALSE(field.fits(Length(0, 0, 16)));
  EXPECT_EQ(field.text(Length(0, 3 * 16)), "3");
  EXPECT_EQ(field.text(0), "0");
}

TEST(IsaReader, StreamingTablesCountByTheStreamingLength) {
  const Folder folder;
  folder.write("abi/play.yaml", play);
  folder.write(
      "isa/wide.yaml",
      "isa: wide\narchitecture: toybox\nfeatures: [wide]\nvector_bytes: 16vl\n"
      "default_core: generic\nregisters:\n"
      "  v: {kind: vector, views: {z: \"z{0..3}\"}}\n"
      "  r: {kind: scalar, views: {x: [a, b]}}\n"
      "convention: play\n"
      "rows:\n  - means: \"d0 = load(p)[o]; d1 = load(p)[o+16vl]\"\n"
      "    imm: {o: {bits: 4, scale: 32vl}}\n    asm: \"ld {d0} {d1} {p} {o}\"\n    class: load\n");
  folder.write("isa/tiles.yaml",
               "isa: tiles\nextends: wide\nfeatures: [tiles]\nvector_bytes: 16svl\n");
  const Isa isa = read_isa(folder.path(), "tiles");
  EXPECT_EQ(isa.features, std::vector<std::string>{"tiles"});
  EXPECT_EQ(isa.vector_bytes, Length(0, 0, 16));
  EXPECT_EQ(isa.files[0].bytes, Length(0, 0, 16));
  EXPECT_EQ(isa.rows[0].means[1].offset, Length(0, 0, 16));
  EXPECT_TRUE(isa.rows[0].immediates[0].fits(Length(0, 0, 64)));
  EXPECT_FALSE(isa.rows[0].immediates[0].fits(Length(0, 64)));
}

TEST(IsaReader, DefaultNamesAreUnique) {
  const Isa isa =
      read(table +
           "rows:\n"
           "  - {means: \"d = load(p)\", asm: \"ld {d}, {p}\", class: load}\n"
           "  - {means: \"d = load(p)[8]\", asm: \"ld {d}, {p}\", class: load}\n"
           "  - {means: \"d = load(p)[16]\", asm: \"ld {d}, {p}\", class: load, name: ld_2}\n"
           "  - {means: \"d = fadd(a, load(p))\", c: \"{a} + {at}\"}\n");
  EXPECT_EQ(isa.rows[0].name, "ld");
  EXPECT_EQ(isa.rows[1].name, "ld_3");
  EXPECT_EQ(isa.rows[2].name, "ld_2");
  EXPECT_EQ(isa.rows[3].name, "load_fadd");
}

TEST(IsaReader, ExtendsInheritsAndReplaces) {
  const Folder folder;
  folder.write("abi/play.yaml", play);
  folder.write("isa/toy.yaml",
               table +
                   "rows:\n"
                   "  - {means: \"d = fadd(a, b)\", c: \"{a} + {b}\", name: one}\n"
                   "  - {means: \"d = fsub(a, b)\", c: \"{a} - {b}\", name: two}\n");
  folder.write("isa/big.yaml",
               "isa: big\nextends: toy\nfeatures: [big, toys]\nvector_bytes: 16vl\n"
               "registers: {k: {kind: predicate, views: {k: \"k{1..7}\"}}}\n"
               "c: {includes: [big.h], types: {k: mask_t}}\n"
               "assembly: {rules: {jump: \"j {label}\"}}\n"
               "rows:\n"
               "  - {means: \"d = fadd(a, b)\", c: \"add({a}, {b})\", name: one}\n");
  const Isa isa = read_isa(folder.path(), "big");
  EXPECT_EQ(isa.name, "big");
  EXPECT_EQ(isa.architecture, "toybox");
  EXPECT_EQ(isa.features, (std::vector<std::string>{"toys", "big"}));
  EXPECT_EQ(isa.vector_bytes, Length(0, 16));
  ASSERT_EQ(isa.files.size(), 3U);
  EXPECT_EQ(isa.files[2].bytes, Length(0, 2));
  EXPECT_EQ(isa.c_includes, (std::vector<std::string>{"toy.h", "big.h"}));
  EXPECT_EQ(isa.c_types.size(), 3U);
  EXPECT_EQ(isa.c_target, "toy");
  EXPECT_EQ(isa.rules.jump, std::vector<std::string>{"j {label}"});
  EXPECT_EQ(isa.convention.args_register, "a");
  ASSERT_EQ(isa.rows.size(), 2U);
  EXPECT_EQ(isa.row_for(OpCode::fadd)->c, "add({a}, {b})");
  EXPECT_EQ(isa.row_for(OpCode::fsub)->c, "{a} - {b}");
}

TEST(IsaReader, RefusesWrongTables) {
  EXPECT_EQ(error("isa: tow\n"),
            "isa/toy.yaml:1:6: the file is called toy.yaml, so 'isa' must be toy");
  EXPECT_EQ(error("isa: toy\nextends: toy\n"), "isa/toy.yaml:2:10: 'toy' extends itself");
  EXPECT_EQ(error("isa: toy\nextends: tow\n"),
            "isa/toy.yaml:2:10: unknown ISA 'tow'; did you mean 'toy'? known ISAs: toy");
  EXPECT_EQ(error("isa: toy\nfeature: x\n"),
            "isa/toy.yaml:2:1: unknown key 'feature'; did you mean 'features'? known keys: isa, "
            "extends, architecture, convention, features, vector_bytes, packers, default_core, "
            "usual_technique, registers, c, assembly, rows");
  EXPECT_EQ(error("isa: toy\nvector_bytes: 16vl\npackers: tow\n"),
            "isa/toy.yaml:3:10: unknown ISA 'tow'; did you mean 'toy'? known ISAs: toy");
  EXPECT_EQ(error(table + "rows:\n  - {means: \"d = zero()\", c: \"0\", name: z}\n"
                          "  - {means: \"d = zero()\", c: \"0\", name: z}\n"),
            "isa/toy.yaml:14:5: row 'z' twice; first at 13:5");
}

TEST(IsaReader, RefusesWrongRegisters) {
  const auto file = [](const std::string& text) {
    return error("isa: toy\nregisters: {v: {" + text + "}}\n");
  };
  EXPECT_EQ(file("kind: vektor, views: {v: [a]}"),
            "isa/toy.yaml:2:23: unknown kind 'vektor'; did you mean 'vector'? known kinds: scalar, "
            "vector, predicate, tile");
  EXPECT_EQ(file("kind: tile, rows: 4, bytes: 6, views: {v: [a]}"),
            "isa/toy.yaml:2:45: 'bytes' of a tile must be a multiple of 4 from 4 to 256, or of vl");
  EXPECT_EQ(file("kind: tile, rows: 0, bytes: 8, views: {v: [a]}"),
            "isa/toy.yaml:2:35: 'rows' of a tile must be a multiple of 1 from 1 to 256, or of vl");
  EXPECT_EQ(file("kind: tile, rows: 4, bytes: 8, views: {v: [a]}}, t: {kind: tile, rows: 4, bytes: "
                 "8, views: {t: [b]}"),
            "isa/toy.yaml:2:69: 'v' and 't' are tiles of one shape, which go to one file");
  EXPECT_EQ(file("kind: tile, views: {v: [a]}"), "isa/toy.yaml:2:16: key 'rows' is missing in 'v'");
  EXPECT_EQ(file("kind: vector, rows: 4, views: {v: [a]}"),
            "isa/toy.yaml:2:31: unknown key 'rows'; known keys: kind, bytes, views");
  EXPECT_EQ(file("kind: vector, views: {v: [a, b], q: [c]}"),
            "isa/toy.yaml:2:53: view 'q' has 1 registers, view 'v' has 2");
  EXPECT_EQ(file("kind: vector, views: {v: [a, a]}"),
            "isa/toy.yaml:2:46: register 'a' stands twice in 'v'");
  EXPECT_EQ(file("kind: vector, views: {v: \"a{0..x}\"}"),
            "isa/toy.yaml:2:42: 'a{0..x}' is not a range of names such as \"v{0..31}\"");
  EXPECT_EQ(file("kind: vector, views: {}"), "isa/toy.yaml:2:38: 'views' names no registers");
}

TEST(IsaReader, RefusesWrongRules) {
  const auto rules = [](const std::string& text) {
    return error(
        "isa: toy\nregisters: {r: {kind: scalar, views: {x: [ax]}}}\n"
        "assembly: {rules: {" +
        text + "}}\n");
  };
  EXPECT_EQ(rules("jump: \"j {lable}\""),
            "isa/toy.yaml:3:26: in \"j {lable}\": unknown name 'lable'; did you mean 'label'? "
            "known names: label");
  EXPECT_EQ(rules("branch: {above: x}"),
            "isa/toy.yaml:3:29: unknown key 'above'; known keys: equal, not_equal, below, "
            "at_least");
}

TEST(IsaReader, RefusesWrongConventions) {
  const auto convention = [](const std::string& text, const std::string& name = "play") {
    const Folder folder;
    folder.write("isa/toy.yaml",
                 "isa: toy\nregisters: {r: {kind: scalar, views: {x: [ax]}}}\nconvention: " + name);
    folder.write("abi/play.yaml", text);
    return folder.error([&] { read_isa(folder.path(), "toy"); });
  };
  EXPECT_EQ(convention("args_register: ax", "pay"),
            "isa/toy.yaml:3:13: unknown convention 'pay'; did you mean 'play'? known conventions: "
            "play");
  EXPECT_EQ(convention("args_register: ay"),
            "isa/toy.yaml:3:13: unknown scalar register 'ay'; did you mean 'ax'? known scalar "
            "registers: ax");
  EXPECT_EQ(convention("extends: play"),
            "abi/play.yaml:1:10: a convention extends one that comes before it in the alphabet");
  EXPECT_EQ(convention("frame_align: -1"),
            "abi/play.yaml:1:14: 'frame_align' must be from 0 to 4096");
  EXPECT_EQ(convention("unwind: {frame: \".f {o}\"}"),
            "abi/play.yaml:1:17: in \".f {o}\": unknown name 'o'; known names: bytes, cfa");
}

TEST(IsaReader, ChecksMeaningsOfRows) {
  EXPECT_EQ(row_error("c: x"), "isa/toy.yaml:13:5: key 'means' is missing in 'rows'");
  EXPECT_EQ(row_error("means: \"d = fadd(a)\", c: x"),
            "isa/toy.yaml:13:13: means \"d = fadd(a)\", column 5: fadd takes 2 arguments, not 1");
  EXPECT_EQ(row_error("means: \"d = zero()\""), "isa/toy.yaml:13:5: a row needs 'c' or 'asm'");
}

TEST(IsaReader, ChecksTextsOfRows) {
  EXPECT_EQ(row_error("means: \"d = fadd(a, b)\", c: \"{a} + {c}\""),
            "isa/toy.yaml:13:34: in \"{a} + {c}\": unknown name 'c'; known names: "
            "d, a, b");
  EXPECT_EQ(row_error("means: \"d = fadd(a, b)\", c: \"{at}\""),
            "isa/toy.yaml:13:34: in \"{at}\": unknown name 'at'; did you mean 'a'? known names: d, "
            "a, b");
  EXPECT_EQ(row_error("means: \"d = fadd(a, b)\", c: \"{a\""),
            "isa/toy.yaml:13:34: '{' without '}' (write '{{' for a brace) in \"{a\"");
  EXPECT_EQ(row_error("means: \"d = zero()\", asm: \"z {d:w}\", class: logic"),
            "isa/toy.yaml:13:32: unknown view 'w'; known views: v, q");
  EXPECT_EQ(row_error("means: \"d = fadd(a, b)\", asm: \"add {d}, {a}\", class: logic"),
            "isa/toy.yaml:13:36: operand 'b' is not in the assembly text");
  EXPECT_EQ(row_error("means: \"d = load(p)[o]\", asm: \"ld {d}, {p}\", class: load"),
            "isa/toy.yaml:13:36: immediate 'o' is not in the assembly text");
  EXPECT_EQ(row_error("means: \"d = pred_all.8()\", asm: \"p {d}\", class: mask"),
            "isa/toy.yaml:13:38: operand 'd' has no register file");
  EXPECT_EQ(row_error("means: \"d = zero()\", asm: \"z {d}\""),
            "isa/toy.yaml:13:5: a row with 'asm' needs 'class', a key of the tables in "
            "templates/core");
  EXPECT_EQ(row_error("means: \"d = zero()\", asm: \"z {d}\", class: [logic, logic]"),
            "isa/toy.yaml:13:48: 'class' is one for all lines of 'asm' or one for each");
  EXPECT_EQ(row_error("means: \"d = zero()\", c: \"0\", c_type: g"),
            "isa/toy.yaml:13:43: unknown C type 'g'; known C types: f, i");
}

TEST(IsaReader, ChecksConstraintsOfRows) {
  const std::string fma = "means: \"d = fma(a, b, c)\", c: x, ";
  EXPECT_EQ(row_error(fma + "tied: {d: e}"),
            "isa/toy.yaml:13:49: unknown operand 'e'; known operands: d, a, b, c");
  EXPECT_EQ(row_error(fma + "tied: {a: d}"), "isa/toy.yaml:13:46: 'tied' is {result: argument}");
  EXPECT_EQ(row_error("means: \"d = dup.32(a)\", c: x, tied: {d: a}"),
            "isa/toy.yaml:13:43: 'd' and 'a' are in different register files");
  EXPECT_EQ(row_error(fma + "early_clobber: [a]"), "isa/toy.yaml:13:55: 'a' is not a result");
  EXPECT_EQ(row_error(fma + "tuple: [[a, b], [b, c]]"),
            "isa/toy.yaml:13:56: 'b' is in a tuple already");
  EXPECT_EQ(row_error(fma + "imm: {o: {bits: 3}}"),
            "isa/toy.yaml:13:45: unknown immediate 'o'; known immediates: ");
  EXPECT_EQ(row_error(fma + "operands: {a: {file: r}}"),
            "isa/toy.yaml:13:60: register file 'r' does not hold the kind of value that 'a' is");
  EXPECT_EQ(row_error(fma + "operands: {a: {file: w}}"),
            "isa/toy.yaml:13:60: unknown register file 'w'; known register "
            "files: v, r");
  EXPECT_EQ(row_error(fma + "operands: {a: {allowed: [4]}}"),
            "isa/toy.yaml:13:64: '4' is no register of file 'v'; 0 to 3 are");
  EXPECT_EQ(row_error(fma + "clobbers: [\"v:4\"]"),
            "isa/toy.yaml:13:50: 'v:4' is neither flags nor file:index");
  EXPECT_EQ(row_error(fma + "mode: steaming"),
            "isa/toy.yaml:13:45: unknown mode 'steaming'; did you mean 'streaming'? known modes: "
            "streaming, accumulator_tiles");
}

TEST(IsaLibrary, RefusesUnknownNames) {
  const Folder folder;
  folder.write("isa/neon_i8mm.yaml", "isa: neon_i8mm\n");
  folder.write("isa/avx512_vnni.yaml", "isa: avx512_vnni\n");
  IsaLibrary isas(folder.path());
  EXPECT_EQ(folder.error([&] {
    isas.get("neon_im8m", {"mine.yaml", 3, 9});
  }),
            "mine.yaml:3:9: unknown ISA 'neon_im8m'; did you mean 'neon_i8mm'? known ISAs: "
            "avx512_vnni, neon_i8mm");
  EXPECT_EQ(isas.get("neon_i8mm").name, "neon_i8mm");
}

TEST(IsaReader, RefusesWhatNoMachineHas) {
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "copy(";
  const std::string nested = row_error("means: \"d = " + deep + "a\"");
  EXPECT_TRUE(nested.ends_with("column 325: an instruction means at most 64 operations"));
  const std::string head = table.substr(0, table.find("vector_bytes"));
  for (const char* bytes : {"0", "-16", "6", "4096", "16+4096vl"}) {
    EXPECT_EQ(error(head + "vector_bytes: " + bytes + "\n"),
              "isa/toy.yaml:5:15: 'vector_bytes' must be a multiple of 4 from 4 to 2048, or of vl");
  }
  EXPECT_EQ(error(head + "registers: {v: {kind: vector, views: {v: [\"v{0..255}\", w]}}}\n"),
            "isa/toy.yaml:5:56: 'v' has more than 256 registers");
  EXPECT_EQ(error(head + "registers: {v: {kind: vector, views: {v: \"v{0..7}" +
                  std::string(100, 'x') + "\"}}}\n"),
            "isa/toy.yaml:5:42: 'v{0..7}" + std::string(100, 'x') +
                "' is not a range of names such as \"v{0..31}\"");
  EXPECT_EQ(row_error("means: \"d = fadd(a, b)\", c: \"{a} + {b}\", "
                      "operands: {a: {allowed: [1, \"{0..2}\"]}}"),
            "isa/toy.yaml:13:75: '1' stands twice in the list");
}

// A table as long as is legal is read in a moment.
TEST(IsaReader, NamesManyRowsAlike) {
  std::string text = table + "rows:\n";
  for (int i = 0; i < 3000; ++i) text += "  - {means: \"d = copy(a)\", c: \"{a}\"}\n";
  const Isa isa = read(text);
  EXPECT_EQ(isa.rows.front().name, "copy");
  EXPECT_EQ(isa.rows.back().name, "copy_3000");
}

}  // namespace
}  // namespace tw::isa_reader_test
