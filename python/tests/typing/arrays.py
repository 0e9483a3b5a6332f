from ostrakon import Assoc

array = Assoc("a,a,b,", "x,y,x,", [1, 2, 3])
product = array @ array.T
assert isinstance(product, Assoc)
total = array + array
total += array
assert total.to_dict2()[("a", "x")] == 3
row = array["a", :]
assert isinstance(row, Assoc)
assert "a" in array
assert array.nnz == 3
