// MatMulNBits of ONNX Runtime, of a problem in a folder: problem.json, and a, b, scales and zeros
// (if there are zero points), all as bytes. Writes y, of float32.
//
//   node matmul_nbits.mjs FOLDER-OF-ONNXRUNTIME-NODE FOLDER
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';

const [library, folder] = process.argv.slice(2);
const ort = createRequire(path.resolve(library) + '/')('onnxruntime-node');
const read = (name) => fs.readFileSync(path.join(folder, name));

// Protocol buffers: a field is its number and its wire type, then its value (protobuf.dev).
const varint = (value) => {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Buffer.from([...bytes, value]);
};
const integer = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) =>
  Buffer.concat([varint(field * 8 + 2), varint(value.length), Buffer.from(value)]);
const message = (field, ...members) => bytes(field, Buffer.concat(members));

// Fields of onnx.proto (github.com/onnx/onnx), whose names stand beside their numbers.
const type = {float: 1, uint8: 2};
const operand = (field, name, elements, shape) =>
  message(field, bytes(1, name), message(2, message(1, integer(1, elements), message(2,
    ...shape.map((extent) => message(1, integer(1, extent)))))));  // ValueInfoProto
const constant = (name, elements, shape, data) =>  // GraphProto.initializer
  message(5, ...shape.map((extent) => integer(1, extent)), integer(2, elements), bytes(8, name),
    bytes(9, data));
const attribute = (name, value) =>  // NodeProto.attribute; 2: AttributeProto.INT
  message(5, bytes(1, name), integer(3, value), integer(20, 2));

const {m, n, k, bits, block, has_zeros, accuracy} = JSON.parse(read('problem.json'));
const blocks = Math.ceil(k / block);
const inputs = ['a', 'b', 'scales', ...(has_zeros ? ['zeros'] : [])];
const graph = message(7,
  message(1, ...inputs.map((name) => bytes(1, name)), bytes(2, 'y'), bytes(4, 'MatMulNBits'),
    attribute('K', k), attribute('N', n), attribute('bits', bits), attribute('block_size', block),
    attribute('accuracy_level', accuracy), bytes(7, 'com.microsoft')),
  bytes(2, 'matmul'),
  constant('b', type.uint8, [n, blocks, block * bits / 8], read('b')),
  constant('scales', type.float, [n * blocks], read('scales')),
  ...(has_zeros ?
    [constant('zeros', type.uint8, [n * Math.ceil(blocks * bits / 8)], read('zeros'))] : []),
  operand(11, 'a', type.float, [m, k]),
  operand(12, 'y', type.float, [m, n]));
const model = Buffer.concat([
  integer(1, 9), graph, message(8, bytes(1, ''), integer(2, 21)),
  message(8, bytes(1, 'com.microsoft'), integer(2, 1))]);

const session = await ort.InferenceSession.create(new Uint8Array(model), {
  intraOpNumThreads: 1, extra: {session: {'mlas.disable_kleidiai': '1'}}});
const rows = read('a');
const copy = rows.buffer.slice(rows.byteOffset, rows.byteOffset + rows.length);
const a = new ort.Tensor('float32', new Float32Array(copy), [m, k]);
const {y} = await session.run({a});
fs.writeFileSync(path.join(folder, 'y'), new Uint8Array(y.data.buffer, y.data.byteOffset,
  y.data.byteLength));
