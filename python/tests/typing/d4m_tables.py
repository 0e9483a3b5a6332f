# pyright: reportConstantRedefinition=false
# Tables have capital names in D4M.

from ostrakon import DB, Assoc

with DB() as db:
    T = db["Tadj"]
    T += Assoc("alice,bob,", "bob,carl,", 1)
    P = db["Tedge", "TedgeT"]
    P += Assoc("a,b,", "x,y,", 1)
    found: Assoc = P[:, "x,"]
    assert found.nnz == 1
    assert T["alice,", :].nnz == 1
    names: list[str] = db.ls()
    assert names == ["Tadj", "Tedge", "TedgeT"]
