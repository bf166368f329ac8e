"""Keys that name the same attribute in other words or in the other language. Pure: no Django.

What is known under one of them is not stored again under another: 过敏 joins "allergies". Only plain synonyms stand
here; whether any other two keys mean the same is for the model to say, which is shown the keys that there are.
"""

from __future__ import annotations

from functools import cache

from apps.core.text.fold import normalize_key

_SYNONYMS = (
    ("name", "full name", "姓名", "名字"),
    ("nickname", "昵称", "小名"),
    ("age", "年龄"),
    ("gender", "sex", "性别"),
    ("birthday", "date of birth", "birth date", "生日", "出生日期"),
    ("home", "residence", "place of residence", "lives in", "居住地", "住处", "现居地"),
    ("city", "城市", "所在城市", "居住城市"),
    ("address", "home address", "地址", "住址", "家庭住址"),
    ("hometown", "家乡", "老家", "籍贯"),
    ("nationality", "国籍"),
    ("job", "occupation", "profession", "职业", "工作"),
    ("employer", "company", "workplace", "公司", "工作单位"),
    ("school", "学校"),
    ("major", "专业"),
    ("phone", "phone number", "mobile", "mobile number", "电话", "手机", "手机号", "手机号码", "电话号码"),
    ("email", "email address", "邮箱", "电子邮箱"),
    ("partner", "伴侣", "对象"),
    ("marital status", "婚姻状况"),
    ("children", "kids", "孩子", "子女"),
    ("pets", "pet", "宠物"),
    ("allergies", "allergy", "allergic to", "过敏", "过敏史", "过敏原", "过敏源"),
    ("diet", "饮食", "饮食习惯"),
    ("blood type", "血型"),
    ("height", "身高"),
    ("weight", "体重"),
    ("shoe size", "鞋码"),
    ("languages", "语言", "会的语言"),
    ("hobbies", "hobby", "interests", "爱好", "兴趣", "兴趣爱好"),
    ("likes", "喜欢", "喜欢的事物"),
    ("dislikes", "不喜欢", "不喜欢的事物", "讨厌"),
    ("favorite color", "favourite colour", "favorite colour", "favourite color", "喜欢的颜色", "最喜欢的颜色"),
    ("favorite food", "favourite food", "喜欢的食物", "最喜欢的食物"),
    ("favorite drink", "favourite drink", "喜欢的饮料", "最喜欢的饮料"),
    ("favorite movie", "favourite film", "favorite film", "favourite movie", "喜欢的电影", "最喜欢的电影"),
    ("favorite book", "favourite book", "喜欢的书", "最喜欢的书"),
    ("favorite music", "favourite music", "喜欢的音乐", "最喜欢的音乐"),
    ("goals", "goal", "目标"),
    ("car", "车", "汽车"),
)


@cache
def _list_groups() -> dict[str, tuple[str, ...]]:
    """The group of each normalised key. Not made on import: normalising Chinese loads a dictionary, for a second."""
    groups = (tuple(dict.fromkeys(map(normalize_key, words))) for words in _SYNONYMS)
    return {key: group for group in groups for key in group}


def list_same_keys(normalized_key: str) -> list[str]:
    """Return the other normalised keys that name the same attribute."""
    return [key for key in _list_groups().get(normalized_key, ()) if key != normalized_key]
